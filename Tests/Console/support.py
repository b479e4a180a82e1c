"""A server for the tests of a class, a page for each of them, and what all tests look at in the end."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from browser import Browser

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEARTH = os.environ.get("HEARTH", os.path.join(ROOT, ".build/release/hearth"))
PICTURES = os.environ.get("HEARTH_SCREENSHOTS", os.path.join(ROOT, ".build/console-screenshots"))
#: Files of the console to serve instead of those in the program, while somebody works on them.
FOLDER = os.environ.get("HEARTH_CONSOLE_FILES")

_browser = None


def browser():
    """The browser of all tests."""
    global _browser
    if _browser is None:
        _browser = Browser()
    return _browser


def close_browser():
    if _browser:
        _browser.close()


class Server:
    """A server with a data folder of its own."""

    def __init__(self, *options, development=True, data=None, port=0, admin_port=None):
        self.folder = data or tempfile.mkdtemp(prefix="hearth-console-data-")
        self.options, self.development = options, development
        self.start(port, admin_port)

    def start(self, port=0, admin_port=None):
        words = [HEARTH, "serve", "--data", os.path.join(self.folder, "data"), "--listen", f"127.0.0.1:{port}", *self.options]
        if self.development:
            words.append("--dev")
            if FOLDER:
                words += ["--console-folder", FOLDER]
        else:
            words += ["--admin-listen", f"127.0.0.1:{admin_port or 0}"]
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.output = ""
        self.admin = None
        for line in self.process.stdout:
            self.output += line
            found = re.match(r"hearth: administrators on (\S+)", line)
            if found:
                self.admin = found.group(1)
            found = re.match(r"hearth: ready on (\S+)", line)
            if found:
                self.address = found.group(1)
                break
        else:
            self.process.wait()
            raise AssertionError("the server did not start:\n" + open(os.path.join(self.folder, "log")).read())
        self.admin = self.admin or self.address
        self.port = int(self.address.rsplit(":", 1)[1])
        self.admin_port = int(self.admin.rsplit(":", 1)[1])
        self.url = f"http://{self.admin}/console/"

    def stop(self, kill=False):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            self.process.wait(90)
        self.process.stdout.close()
        self.log.close()

    def remove(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def request(self, method, path, value=None, database=None, headers=None, token="owner", raw=None):
        """A request over HTTP, of another client: status, fields and body."""
        target = urllib.parse.quote(path, safe="/:?=&%.")
        if database:
            target += ("&" if "?" in target else "?") + f"ns={database}"
        body = raw if raw is not None else None if value is None else json.dumps(value).encode()
        fields = dict(headers or {})
        if token:
            fields["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(f"http://{self.admin}{target}", body, fields, method=method)
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def put(self, path, value, database=None):
        raw = json.dumps(value).encode()
        status, _, body = self.request("PUT", f"{path}.json?print=silent", database=database, raw=raw)
        assert status < 300, body

    def get(self, path, database=None):
        status, _, body = self.request("GET", f"{path}.json", database=database)
        assert status == 200, body
        return json.loads(body)

    def raw(self, path, database=None):
        return self.request("GET", f"{path}.json", database=database)[2].decode()


class ConsoleCase(unittest.TestCase):
    """Each test has a page, and leaves a screenshot. Errors in the page fail it, but for those that it expects."""

    options = ()
    width, height = 1280, 800
    media = {}
    #: Parts of problems that belong to a test.
    expected_problems = ()

    @classmethod
    def setUpClass(cls):
        cls.server = cls.make_server()

    @classmethod
    def make_server(cls):
        return Server(*cls.options)

    @classmethod
    def tearDownClass(cls):
        cls.server.remove()

    def setUp(self):
        self.page = browser().page(self.width, self.height, **self.media)

    def tearDown(self):
        os.makedirs(PICTURES, exist_ok=True)
        name = f"{type(self).__name__}-{self._testMethodName.removeprefix('test_')}.png"
        try:
            self.page.screenshot(os.path.join(PICTURES, name))
            found = self.page.evaluate("document.documentElement.scrollWidth > innerWidth + 1")
            self.assertFalse(found, "the page is wider than the window")
            problems = [p for p in self.page.problems if not any(e in p for e in self.expected_problems)]
            self.assertEqual(problems, [])
        finally:
            self.page.close()

    def open(self, path="", database="default", screen="data", ready="Connected"):
        keys = [urllib.parse.quote(key, safe="") for key in path.split("/") if key]
        self.page.open(self.server.url + "#/" + "/".join([database, screen, *keys]))
        self.page.wait("document.body.classList.contains('started')")
        if ready:
            self.page.wait_text(ready, "#connection")

    # The tree

    def rows(self):
        """Key and value of the rows in view."""
        return self.page.evaluate("""[...document.querySelectorAll('.tree .row')]
          .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex)
          .map((row) => [row.querySelector('.name')?.textContent ?? null, row.querySelector('.value .v')?.textContent ?? null])""")

    def row(self, key):
        return f"[...document.querySelectorAll('.tree .row')].find((r) => r.querySelector('.name')?.textContent === {json.dumps(key)})"

    def wait_row(self, key, value=None):
        check = f"{self.row(key)}" + (
            f"?.querySelector('.value .v')?.textContent === {json.dumps(value)}" if value is not None else "")
        self.page.wait(check, f"row {key} {value}")

    def select(self, key):
        self.wait_row(key)
        self.page.evaluate(f"{self.row(key)}.querySelector('.name').click()")

    def expand(self, key):
        self.wait_row(key)
        self.page.evaluate(f"{self.row(key)}.querySelector('.twisty').click()")

    def act(self, name):
        self.page.click(f"#do-{name}")

    def notice(self, text):
        self.page.wait_text(text, "#notices")

    def dialog(self, text):
        self.page.wait_text(text, "dialog[open]")


class ProductionCase(ConsoleCase):
    """A server in production, with keys of administrators."""

    rules = '{"rules": {"public": {".read": true}}}'

    @classmethod
    def make_server(cls):
        folder = tempfile.mkdtemp(prefix="hearth-console-data-")
        rules = os.path.join(folder, "rules.json")
        with open(rules, "w") as file:
            file.write(cls.rules)
        return Server("--rules", rules, development=False, data=folder)

    @classmethod
    def hearth(cls, *words):
        done = subprocess.run([HEARTH, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @classmethod
    def make_key(cls):
        cls.count = getattr(cls, "count", 0) + 1
        path = os.path.join(cls.server.folder, f"key{cls.count}.json")
        cls.hearth("admin", "create-key", path, "--data", os.path.join(cls.server.folder, "data"),
                   "--token-url", f"http://{cls.server.admin}/token")
        return path

    def link(self, key):
        return self.hearth("console", "--key", key, "--url", f"http://{self.server.admin}").strip()
