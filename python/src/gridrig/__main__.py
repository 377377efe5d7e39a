"""`python -m gridrig ...` is `gridrig ...`."""

import os
import sys

from ._program import program

if __name__ == "__main__":
    os.execv(program(), ["gridrig", *sys.argv[1:]])
