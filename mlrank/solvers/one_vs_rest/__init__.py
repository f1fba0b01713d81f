"""Linear machines of all labels at once: what `binary_svm` is compiled to."""
