"""The page of Examples/Web with the JavaScript SDK of Firebase, which is no part of this repository.

`HEARTH_FIREBASE_SDK` names a folder with `firebase-app.js`, `firebase-auth.js` and `firebase-database.js`, as the npm package
`firebase` has them. `scripts/test-console` fetches the package where npm can.
"""

import json
import os
import re
import socket
import subprocess
import sys
import unittest

from support import ROOT, ConsoleCase, browser

SDK = os.environ.get("HEARTH_FIREBASE_SDK", "")
PAGE = os.path.join(ROOT, "Examples", "Web")


def script(url):
    """A file of the SDK, of whichever version the page names."""
    name = re.fullmatch(r"https://www\.gstatic\.com/firebasejs/[\d.]+/(firebase-[a-z]+\.js)", url).group(1)
    with open(os.path.join(SDK, name), "rb") as file:
        return "text/javascript", file.read()


@unittest.skipUnless(SDK, "the JavaScript SDK is not there: HEARTH_FIREBASE_SDK names its folder")
class WebExample(ConsoleCase):
    options = ("--rules", os.path.join(ROOT, "deploy/rules/chat.json"))
    # The browser wants a picture for its tab; the rest is said while the server is away, or has refused something.
    expected_problems = ("favicon.ico", "ERR_CONNECTION_REFUSED", "WebSocket connection to", "FIREBASE WARNING")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # As its README says, on any free port.
        cls.files = subprocess.Popen(
            [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", PAGE, "0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.port = re.search(r"port (\d+)", cls.files.stdout.readline()).group(1)

    @classmethod
    def tearDownClass(cls):
        cls.files.kill()
        cls.files.wait()
        cls.files.stdout.close()
        super().tearDownClass()

    def enter(self, page, name, room):
        page.intercept("https://www.gstatic.com/*", script)
        page.open(f"http://127.0.0.1:{self.port}/?name={name}&room={room}&server=http://{self.server.address}")
        page.wait_text(name, "#people")

    def say(self, page, text):
        page.fill("#text", text)
        page.key("Enter")
        page.wait("document.querySelector('#text').value === ''", "an empty field")

    def test_two_windows_see_each_other_and_what_they_say(self):
        self.enter(self.page, "Ann", "tea")
        other = browser().page()
        try:
            self.enter(other, "Bob", "tea")
            for page in (self.page, other):
                page.wait_text("Ann", "#people")
                page.wait_text("Bob", "#people")
            self.say(self.page, "Tea?")
            self.say(other, "<b>Yes</b>")
            for page in (self.page, other):
                page.wait("document.querySelectorAll('#messages li').length === 2", "two messages")
                self.assertEqual(page.text("#messages"), "Ann: Tea?\nBob: <b>Yes</b>")
                self.assertEqual(page.text("#problem"), "")
        finally:
            other.close()
        # The server removes the name of a window that is closed.
        self.page.wait("document.querySelector('#people').innerText === 'Here: Ann'", "Ann alone")
        messages = list(self.server.get("/chat/tea/messages").values())
        self.assertEqual([message["text"] for message in messages], ["Tea?", "<b>Yes</b>"])
        self.assertEqual([message["from"] for message in messages], ["Ann", "Bob"])
        for message in messages:
            self.assertGreater(message["at"], 1_600_000_000_000)

    def test_two_windows_of_one_browser_are_two_people(self):
        self.enter(self.page, "Ann", "same")
        other = browser().page(beside=self.page)
        self.enter(other, "Bob", "same")
        self.page.wait("document.querySelector('#people').innerText.length === 'Here: Ann, Bob'.length", "both names")
        # The browser keeps the page for the way back; its name goes at once.
        other.open("about:blank")
        self.page.wait("document.querySelector('#people').innerText === 'Here: Ann'", "Ann alone")
        other.evaluate("history.back()")
        self.page.wait_text("Bob", "#people")
        self.assertEqual(other.problems, [])

    def test_a_window_shows_the_last_twenty_messages(self):
        for number in range(25):
            message = {"by": "eve", "from": "Eve", "text": f"message {number}", "at": {".sv": "timestamp"}}
            self.server.put(f"/chat/long/messages/{number:02}", message)
        self.enter(self.page, "Ann", "long")
        self.page.wait_text("Eve: message 24", "#messages")
        last = [f"Eve: message {number}" for number in range(5, 25)]
        self.assertEqual(self.page.text("#messages"), "\n".join(last))
        # Others come meanwhile, one of them late.
        for number in (26, 25):
            message = {"by": "eve", "from": "Eve", "text": f"message {number}", "at": {".sv": "timestamp"}}
            self.server.put(f"/chat/long/messages/{number:02}", message)
        last = last[2:] + ["Eve: message 25", "Eve: message 26"]
        expected = json.dumps("\n".join(last))
        self.page.wait(f"document.querySelector('#messages').innerText === {expected}", "the last twenty in their order")

    def test_what_is_written_before_the_server_answers_stays(self):
        self.page.intercept("https://www.gstatic.com/*", script)
        silent = socket.socket()
        self.addCleanup(silent.close)
        silent.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        address = f"http://127.0.0.1:{self.port}/?name=Ann&room=early&server={server}"
        self.page.open(address)
        self.page.fill("#text", "hello")
        self.page.key("Enter")
        self.page.wait("document.querySelector('#problem').innerText !== ''", "the problem")
        self.page.key("Enter")
        self.assertEqual(self.page.evaluate("location.href"), address)
        self.assertEqual(self.page.evaluate("document.querySelector('#text').value"), "hello")

    def test_what_is_refused_is_shown(self):
        self.page.intercept("https://www.gstatic.com/*", script)
        self.page.open(f"http://127.0.0.1:{self.port}/?name={'x' * 41}&server=http://{self.server.address}")
        self.page.wait_text("PERMISSION_DENIED", "#problem")
        self.page.evaluate("document.querySelector('#problem').textContent = ''")
        self.say(self.page, "Tea?")
        self.page.wait_text("PERMISSION_DENIED", "#problem")
        self.assertEqual(self.page.text("#messages"), "")
        self.assertIsNone(self.server.get("/chat/lobby/messages"))

    def test_the_name_comes_back_with_the_connection(self):
        self.enter(self.page, "Ann", "back")
        self.server.stop()
        self.server.start(self.server.port)
        self.say(self.page, "Here again")
        self.page.wait_text("Ann: Here again", "#messages")
        self.page.wait("document.querySelector('#people').innerText === 'Here: Ann'", "the name")
        end = self.server.get("/chat/back")
        self.assertEqual(list(end["people"].values()), ["Ann"])
        self.assertEqual([message["text"] for message in end["messages"].values()], ["Here again"])
