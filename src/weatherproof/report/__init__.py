"""The view of results: one page that stands for itself.

Drawn with Jinja templates, inline SVG and about 140 lines of JavaScript, and not with Altair: Vega-Lite inlined costs
800 KB of script a page (or a network), draws nothing for a screen reader and little for a printer, while a heat map is
a table and a curve is a path. So the page is small, prints, and can be read without any script at all.
"""

from .page import write_report

__all__ = ["write_report"]
