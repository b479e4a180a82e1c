"""Drives the distribution's Chromium over a pipe (Chrome DevTools Protocol), with Python's own library alone."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FIND = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = int(__import__("os").environ.get("HEARTH_PATIENCE", "30"))


def program():
    """The browser's program, or None."""
    return next((found for found in map(shutil.which, FIND) if found), None)


class BrowserError(Exception):
    pass


class Browser:
    """One process. Pages are made by `page()`, each in a profile of its own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="hearth-console-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The child expects commands at 3 and answers at 4; the ends are first moved out of the way.
        high = [os.dup2(end, number, inheritable=True) for end, number in ((to_read, 213), (to_write, 214))]
        os.close(to_read)
        os.close(to_write)

        def arrange():
            os.dup2(high[0], 3, inheritable=True)
            os.dup2(high[1], 4, inheritable=True)

        self.process = subprocess.Popen(
            [
                program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", "--disable-background-networking", "--disable-component-update",
                "--disable-default-apps", "--disable-sync", "--mute-audio", "--remote-debugging-pipe",
                "--force-color-profile=srgb", "--lang=en-US", f"--user-data-dir={self.folder}", "about:blank",
            ],
            close_fds=False, preexec_fn=arrange, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for end in high:
            os.close(end)
        self._number = 0
        self._input = b""
        self._answers = {}
        self.pages = {}

    def close(self):
        try:
            self.send("Browser.close", wait=False)
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self.folder, ignore_errors=True)

    def send(self, method, parameters=None, session=None, wait=True):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        if not wait:
            return None
        number = self._number
        end = time.monotonic() + 2 * PATIENCE
        while number not in self._answers:
            self._take(end, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _take(self, end, what):
        if b"\0" not in self._input:
            ready, _, _ = select.select([self._read], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise BrowserError(f"the browser does not answer {what}")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise BrowserError("the browser has ended")
            self._input += part
            return
        text, self._input = self._input.split(b"\0", 1)
        message = json.loads(text)
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            page = self.pages.get(message.get("sessionId"))
            if page:
                page._event(message["method"], message["params"])

    def page(self, width=1280, height=800, beside=None, **media):
        """A tab with a profile of its own, or with that of another one."""
        context = beside.context if beside else self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", {"url": "about:blank", "browserContextId": context})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        return Page(self, session, context, width, height, media)


KEYS = {
    "Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), "Delete": (46, ""), "Insert": (45, ""), "F2": (113, ""),
    "Home": (36, ""), "End": (35, ""), "PageDown": (34, ""), "PageUp": (33, ""), "ArrowDown": (40, ""),
    "ArrowUp": (38, ""), "ArrowLeft": (37, ""), "ArrowRight": (39, ""), "Backspace": (8, ""), " ": (32, " "),
}


class Page:
    """A tab. What goes wrong in it (`problems`) is for the test to look at."""

    def __init__(self, browser, session, context, width, height, media):
        self.browser, self.session, self.context = browser, session, context
        self.problems = []
        self._answer = None
        browser.pages[session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.resize(width, height)
        self.media(**media)
        self.send("Browser.grantPermissions", {
            "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "browserContextId": context})

    def send(self, method, parameters=None):
        session = None if method.startswith("Browser.") else self.session
        return self.browser.send(method, parameters, session)

    def intercept(self, pattern, answer):
        """Answers requests for URLs of a pattern with `answer(url)`: the type and the bytes of a file."""
        self._answer = answer
        self.send("Fetch.enable", {"patterns": [{"urlPattern": pattern}]})

    def _fulfil(self, parameters):
        kind, content = self._answer(parameters["request"]["url"])
        headers = {"Content-Type": kind, "Access-Control-Allow-Origin": "*"}
        # Nobody waits for the answer: the events of a page are taken while somebody else waits.
        self.browser.send("Fetch.fulfillRequest", {
            "requestId": parameters["requestId"], "responseCode": 200, "body": base64.b64encode(content).decode(),
            "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
        }, self.session, wait=False)

    def _event(self, method, parameters):
        if method == "Fetch.requestPaused":
            self._fulfil(parameters)
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert"):
            self.problems.append("console: " + " ".join(str(a.get("description", a.get("value"))) for a in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.problems.append("log: " + parameters["entry"]["text"] + " " + parameters["entry"].get("url", ""))

    def close(self):
        self.browser.pages.pop(self.session, None)
        self.browser.send("Target.disposeBrowserContext", {"browserContextId": self.context})

    # Looks

    def resize(self, width, height, scale=1):
        self.send("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})

    def media(self, scheme="light", motion="no-preference", forced="none"):
        self.send("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": motion},
            {"name": "forced-colors", "value": forced}]})

    def screenshot(self, path):
        data = self.send("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    # Going somewhere

    def open(self, url):
        self.send("Page.navigate", {"url": url})

    # Asking

    def evaluate(self, expression):
        """The value of an expression, awaited if it is a promise."""
        answer = self.send("Runtime.evaluate", {
            "expression": expression, "awaitPromise": True, "returnByValue": True, "userGesture": True})
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait(self, condition, what=None):
        """Waits until an expression is true, looked at with each frame. Answers its value."""
        source = f"""new Promise((resolve) => {{
          const end = performance.now() + {PATIENCE * 1000};
          const look = () => {{
            let found; try {{ found = ({condition}); }} catch {{ found = false; }}
            if (found || performance.now() > end) resolve(found instanceof Node ? true : found ?? null); else setTimeout(look, 15);
          }};
          look();
        }})"""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                found = self.evaluate(source)
                break
            except BrowserError as error:
                # Meanwhile another page has come.
                if time.monotonic() > end or not any(w in str(error) for w in ("context", "navigated", "Inspected")):
                    raise
        if not found:
            shown = self.evaluate("document.body.innerText")
            raise AssertionError(f"not within {PATIENCE} s: {what or condition}\n{shown[:3000]}\n{self.problems}")
        return found

    def text(self, selector="body"):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def wait_text(self, text, selector="body"):
        self.wait(f"document.querySelector({json.dumps(selector)})?.innerText.includes({json.dumps(text)})",
                  f"the text {text!r} in {selector}")

    # Doing

    def focus(self, selector):
        self.wait(f"document.querySelector({json.dumps(selector)})", selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def click(self, selector, text=None, count=1):
        """Clicks with the mouse on what a selector finds first, or on the one of a text."""
        find = self._find(selector, text)
        box = self.wait(f"""(() => {{
          const found = {find};
          if (!found || found.disabled) return null;
          found.scrollIntoView({{ block: 'nearest' }});
          const box = found.getBoundingClientRect();
          if (!box.width) return null;
          const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
          return {{ x, y }};
        }})()""", f"{selector} {text or ''} to click")
        for kind in ("mouseMoved", *(["mousePressed", "mouseReleased"] * 1)):
            self.send("Input.dispatchMouseEvent", {
                "type": kind, "x": box["x"], "y": box["y"], "button": "left" if kind != "mouseMoved" else "none",
                "clickCount": 1})
        if count == 2:
            for kind in ("mousePressed", "mouseReleased"):
                self.send("Input.dispatchMouseEvent", {
                    "type": kind, "x": box["x"], "y": box["y"], "button": "left", "clickCount": 2})

    @staticmethod
    def _find(selector, text):
        if text is None:
            return f"document.querySelector({json.dumps(selector)})"
        return (f"[...document.querySelectorAll({json.dumps(selector)})]"
                f".find((e) => e.textContent.trim() === {json.dumps(text)})")

    def key(self, name, *modifiers, count=1):
        bits = sum({"alt": 1, "ctrl": 2, "meta": 4, "shift": 8}[m] for m in modifiers)
        code, text = KEYS[name] if name in KEYS else (ord(name.upper()), "" if bits & 6 else name)
        # "keyDown" with text makes a character, "rawKeyDown" none.
        for _ in range(count):
            for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
                event = {"type": kind, "key": name, "code": name if len(name) > 1 else f"Key{name.upper()}",
                         "windowsVirtualKeyCode": code, "modifiers": bits}
                if text and kind == "keyDown":
                    event["text"] = text
                self.send("Input.dispatchKeyEvent", event)

    def type(self, text):
        """Types into what has the focus."""
        self.send("Input.insertText", {"text": text})

    def fill(self, selector, text):
        """Replaces the text of a field."""
        self.focus(selector)
        self.evaluate("document.activeElement.select?.()")
        if text:
            self.type(text)
        else:
            self.key("Delete")

    def choose(self, selector, value):
        """Chooses in a select."""
        self.wait(f"document.querySelector({json.dumps(selector)})", selector)
        self.evaluate(f"""(() => {{
          const control = document.querySelector({json.dumps(selector)});
          control.value = {json.dumps(value)};
          if (control.value !== {json.dumps(value)}) throw new Error('no such choice: ' + {json.dumps(value)});
          control.dispatchEvent(new Event('change', {{ bubbles: true }}));
        }})()""")

    def put_file(self, selector, path):
        self.wait(f"document.querySelector({json.dumps(selector)})", selector)
        root = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
        self.send("DOM.setFileInputFiles", {"nodeId": node, "files": [path]})

    def accessibility(self):
        """All nodes of the accessibility tree that are not ignored."""
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        return [node for node in nodes if not node.get("ignored")]
