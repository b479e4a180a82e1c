"""Runs one of the functions in functions/main.py on the functions framework: run_function.py NAME PORT."""

import pathlib
import sys

from functions_framework import create_app

name, port = sys.argv[1], int(sys.argv[2])
source = pathlib.Path(__file__).parent / "functions" / "main.py"
create_app(target=name, source=str(source), signature_type="cloudevent").run("127.0.0.1", port)
