"""Runs all tests, or those that are named, and ends the browser."""

import sys
import unittest

import support


def main():
    loader = unittest.TestLoader()
    suite = loader.loadTestsFromNames(sys.argv[1:]) if sys.argv[1:] else loader.discover(".")
    try:
        result = unittest.TextTestRunner(verbosity=2).run(suite)
    finally:
        support.close_browser()
    return 0 if result.wasSuccessful() else 1


sys.exit(main())
