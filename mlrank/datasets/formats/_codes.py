"""Why a compiled scanner stopped. Kept apart from the scanners, so that a message needs no compiler."""

DONE = 0
NOT_A_NUMBER = 1
MISSING = 2
UNKNOWN_VALUE = 3
TOO_FEW = 4
TOO_MANY = 5
OPEN_QUOTE = 6
NOT_BINARY = 7
UNKNOWN_CLASS = 8
NOT_AN_INDEX = 9
INDEX_TOO_LARGE = 10
REPEATED_INDEX = 11
NOT_SPARSE = 12
NOT_DENSE = 13
UNCLOSED_ROW = 14
AFTER_ROW = 15
AFTER_CELL = 16
NO_CLASS = 17
BLANK_AFTER_COMMA = 18
NOT_A_LABEL = 19
NOT_A_PAIR = 20
EMPTY_LINE = 21
LABEL_AFTER_BLANK = 22
NO_LABELS = 23
# An array is full: a mistake in the sizes that the caller computed, never in the file.
NO_ROOM = 24
WEIGHT = 25

# What an attribute's cells hold: a number, 0 or 1, one of a list of values (one column each), or paths of classes.
NUMERIC, BINARY, NOMINAL, CLASSES = range(4)
