"""What the scripts of the tests have in common: checks that are run in order, each a line of output."""
import os
import sys
import traceback

_checks = []


def check(name):
    """Adds a function to the checks."""
    def add(function):
        _checks.append((name, function))
        return function
    return add


def equal(got, wanted, what="value"):
    if got != wanted or type(got) is not type(wanted):
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def refused(call, *kinds):
    """The error of a call that must not succeed."""
    try:
        result = call()
    except kinds as error:
        return error
    raise AssertionError(f"not refused, but answered {result!r}")


def run():
    """Runs all checks. The exit code is the number of those that failed."""
    failures = 0
    for name, function in _checks:
        try:
            function()
            print(f"PASS {name}", flush=True)
        except Exception:
            failures += 1
            print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
    print(f"{len(_checks) - failures} of {len(_checks)} checks passed", flush=True)
    # Threads of listeners may still wait for an event.
    sys.stdout.flush()
    os._exit(min(failures, 99))
