"""`python -m gridrig.policy`: a policy of a module or a file as the program that gridrig starts."""

import sys

from gridrig._policy import main

if __name__ == "__main__":
    main(sys.argv[1:])
