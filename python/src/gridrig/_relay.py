"""The program of an environment's policy: passes each line on to the environment, and back.

It ends when either side does.
"""

import socket
import sys

with socket.socket(socket.AF_UNIX) as environment:
    environment.connect(sys.argv[1])
    answers = environment.makefile("rb")
    for line in sys.stdin.buffer:
        environment.sendall(line)
        answer = answers.readline()
        if not answer:
            break
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
