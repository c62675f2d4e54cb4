"""Studies: tables of rows, each a recipe trained with several seeds and measured alike; cached, resumable, in parallel.

A new one is one YAML file in shipped/.
"""

from .calls import study, study_page, study_times
from .definition import Study, load_study, study_names
from .page import page
from .summary import StudyOutcome, summarise

__all__ = [
    "Study", "StudyOutcome", "load_study", "page", "study", "study_names", "study_page", "study_times", "summarise",
]  # fmt: skip
