"""The official admin SDK for Python as the load of a server behind a proxy, while the server is restarted: no call may
fail, no acknowledged write may be lost, and a listener must see the last value.

usage: FIREBASE_DATABASE_EMULATOR_HOST=PROXY:PORT python rolling_restart.py STOP-FILE

Ends soon after STOP-FILE has appeared. The last line of output is a summary; the exit code is 1 if anything went wrong.
"""
import os
import sys
import threading
import time
import traceback
import warnings

import firebase_admin
from firebase_admin import db

warnings.filterwarnings("ignore")
stop_file = sys.argv[1]
firebase_admin.initialize_app(
    None, {"projectId": "hearth", "databaseURL": "https://default.firebaseio.com", "httpTimeout": 600})
errors = []
lock = threading.Lock()
calls = 0
slowest = 0.0


def user(body):
    """A thread that calls `body` with 1, 2, 3 … until the end."""
    last = 0

    def run():
        nonlocal last
        global calls, slowest
        while not os.path.exists(stop_file):
            start = time.monotonic()
            try:
                body(last + 1)
                last += 1
            except Exception:
                with lock:
                    errors.append(traceback.format_exc())
            with lock:
                calls += 1
                slowest = max(slowest, time.monotonic() - start)

    thread = threading.Thread(target=run)
    thread.start()

    def join():
        thread.join()
        return last
    return join


def require(is_true, what):
    if not is_true:
        errors.append(what)


seen = []
listener = db.reference("listened").listen(lambda event: seen.append(event.data))
sets = [user(lambda n, i=i: db.reference(f"sets/{i}/{n}").set(n)) for i in range(3)]
listened = user(lambda n: db.reference("listened").set(n))
increments = [
    user(lambda n: db.reference("counter").transaction(lambda value: (value or 0) + 1)) for _ in range(2)]


def get(_):
    value = db.reference("fixed").get()
    if value != {"a": [1, 2, 3]}:
        raise AssertionError(f"read {value!r}")


db.reference("fixed").set({"a": [1, 2, 3]})
gets = [user(get) for _ in range(2)]

print("running", flush=True)
acknowledged = [join() for join in sets]
last = listened()
increment_count = sum(join() for join in increments)
for join in gets:
    join()
for i, count in enumerate(acknowledged):
    found = db.reference(f"sets/{i}").get()
    # Keys from 1 make a list that begins with null.
    found = found[1:] if isinstance(found, list) else [found[str(n)] for n in range(1, count + 1)]
    require(found == list(range(1, count + 1)), f"acknowledged writes of user {i} are lost")
# A transaction that is sent again after its answer was lost may count twice; none may be lost.
require(db.reference("counter").get() >= increment_count, "acknowledged transactions are lost")
deadline = time.monotonic() + 600
while (not seen or seen[-1] != last) and time.monotonic() < deadline:
    time.sleep(0.1)
require(seen and seen[-1] == last, f"the listener has {seen[-1:]} and not {last}")
require(listener._thread.is_alive(), "the listener has ended")
for error in errors[:5]:
    print(error, flush=True)
print(
    f"{calls} calls of the SDK, {len(errors)} errors, slowest {slowest:.1f} s, {len(seen)} events of the listener",
    flush=True)
# The listener's thread waits for the stream, and its close() too.
os._exit(1 if errors else 0)
