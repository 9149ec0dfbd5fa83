# Runs scripts one after another, each on a question of its own: importing
# PyArrow and PyIceberg takes seconds, so a process a question would not do.
# A line in is [script, question]; a line out is [answer, null] or [null, what
# went wrong]. Ends when its input does.
import json
import os
import sys
import traceback

out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what a library prints is no answer

for line in sys.stdin:
    script, ask = json.loads(line)
    answers = []
    try:
        exec(compile(script, "script", "exec"), {"ask": ask, "answer": answers.append})
        reply = [answers[0], None]
    except BaseException:
        reply = [None, traceback.format_exc()]
    out.write(json.dumps(reply) + "\n")
    out.flush()
