"""Neural networks: classifiers, and the image-to-image networks that corrupt."""
