"""Signing in at a production server, and how a session ends."""

import json
import os

from support import ProductionCase, browser


class SignIn(ProductionCase):
    expected_problems = ("400 (Bad Request)", "401 (Unauthorized)")

    def test_without_a_credential_nothing_is_shown(self):
        self.page.open(self.server.url)
        self.dialog("Sign in")
        self.dialog("hearth console --key FILE")
        self.page.key("Escape")
        self.dialog("Sign in")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('.tree').length"), 0)

    def test_link_signs_in_once(self):
        link = self.link(self.make_key())
        self.page.open(link)
        self.page.wait_text("Connected", "#connection")
        self.page.wait_text("production", "#mode")
        # The code is nowhere any more.
        self.assertNotIn("code=", self.page.evaluate("location.href"))
        self.assertNotIn("code=", self.page.evaluate("JSON.stringify(performance.getEntries().map((e) => e.name))").replace(link, ""))
        self.assertEqual(self.page.evaluate("document.cookie + JSON.stringify(sessionStorage) + Object.keys(localStorage)"), "{}hearth.theme")
        other = browser().page()
        try:
            other.open(link)
            other.wait_text("The link cannot be used", "dialog[open]")
        finally:
            other.close()

    def watch_sockets(self):
        self.page.send("Page.addScriptToEvaluateOnNewDocument", {"source": """
          window.sockets = [];
          window.WebSocket = class extends WebSocket {
            constructor(url) { super(url); sockets.push(String(url)); }
          };
        """})

    def no_code(self):
        self.assertNotIn("code=", self.page.evaluate("location.href"))
        asked = self.page.evaluate("[...sockets, ...performance.getEntriesByType('resource').map((e) => e.name)].map(decodeURIComponent)")
        self.assertEqual([url for url in asked if "code=" in url], [])

    def test_link_signs_in_where_the_console_is_open_already(self):
        self.watch_sockets()
        self.page.open(self.server.url + "#/other/rules")
        self.dialog("Sign in")
        self.page.open(self.server.url + "#code=spoiled")
        self.dialog("The link cannot be used")
        link = self.link(self.make_key())
        self.page.open(link)
        self.page.wait_text("Connected", "#connection")
        self.page.wait("!document.querySelector('dialog')")
        # The page goes on where it was.
        self.page.wait("document.querySelector('.editor textarea')?.value")
        self.assertEqual(self.page.evaluate("location.hash"), "#/other/rules")
        self.no_code()

    def test_link_is_dropped_where_somebody_is_signed_in(self):
        self.watch_sockets()
        key = self.make_key()
        self.page.open(self.link(key))
        self.page.wait_text("Connected", "#connection")
        self.page.evaluate("location.hash = '#/default/rules'")
        self.page.wait("document.querySelector('.editor textarea')?.value")
        link = self.link(key)
        # Listeners are called in turn, so the page has seen the link by then.
        self.page.evaluate(f"""new Promise((resolve) => {{
          addEventListener('hashchange', resolve, {{ once: true }});
          location.href = {json.dumps(link)};
        }})""")
        self.assertEqual(self.page.evaluate("location.hash"), "#/default/rules")
        self.page.wait_text("Connected", "#connection")
        self.no_code()
        # Nobody has used it.
        other = browser().page()
        try:
            other.open(link)
            other.wait_text("Connected", "#connection")
        finally:
            other.close()

    def test_key_file_signs_in(self):
        key = self.make_key()
        self.page.open(self.server.url)
        self.page.put_file("#key-file", key)
        self.page.wait_text("Connected", "#connection")
        self.wait_row("/")
        # The key was not sent.
        private = json.load(open(key))["private_key"].split("\n")[3]
        self.assertNotIn(private, self.page.evaluate("document.documentElement.outerHTML"))

    def test_wrong_files_are_explained(self):
        self.page.open(self.server.url)
        path = os.path.join(self.server.folder, "wrong.json")
        for text, answer in (("no json", "it is not JSON"), ("{}", "no key of"),
                             ('{"client_email":"a","private_key_id":"b","private_key":"AAAA"}', "cannot be read")):
            with open(path, "w") as file:
                file.write(text)
            self.page.put_file("#key-file", path)
            self.dialog(answer)

    def test_removed_key_ends_the_session_and_keeps_the_page(self):
        key = self.make_key()
        self.page.open(self.link(key))
        self.page.wait_text("Connected", "#connection")
        self.page.evaluate("location.hash = '#/default/rules'")
        self.page.wait("document.querySelector('.editor textarea')?.value")
        self.page.fill(".editor textarea", '{"rules": {}} // draft')
        self.hearth("admin", "remove-key", json.load(open(key))["private_key_id"], "--data", os.path.join(self.server.folder, "data"))
        self.dialog("The session has ended")
        self.page.put_file("#key-file", self.make_key())
        self.page.wait_text("Connected", "#connection")
        self.assertIn("draft", self.page.evaluate("document.querySelector('.editor textarea').value"))

    def test_sign_out(self):
        self.page.open(self.link(self.make_key()))
        self.page.wait_text("Connected", "#connection")
        self.page.click("#sign-out")
        self.page.wait_text("Sign in", "dialog[open]")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('.tree').length"), 0)

    def test_token_is_renewed(self):
        link = self.link(self.make_key())
        # The token says that it ends soon, so the page asks for another one at once.
        self.page.send("Page.addScriptToEvaluateOnNewDocument", {"source": """
          const ask = fetch;
          window.fetch = async (...input) => {
            const answer = await ask(...input);
            if (!String(input[0]).endsWith('/token')) return answer;
            const body = await answer.json();
            return new Response(JSON.stringify({ ...body, expires_in: 2 }), { status: answer.status });
          };
          const send = WebSocket.prototype.send;
          window.sent = [];
          WebSocket.prototype.send = function (text) { window.sent.push(text); return send.call(this, text); };
        """})
        self.page.open(link)
        self.page.wait_text("Connected", "#connection")
        self.page.wait("sent.some((text) => text.includes('renew'))")
        self.page.wait("new Set(sent.filter((text) => text.includes('gauth')).map((text) => JSON.parse(text).d.b.cred)).size === 2")
        self.page.evaluate("location.hash = '#/default/settings'")
        self.page.wait_text("Options in force")
        self.page.wait_text("Connected", "#connection")

    def test_data_can_be_changed_and_exported(self):
        self.page.open(self.link(self.make_key()))
        self.page.wait_text("Connected", "#connection")
        self.select("/")
        self.act("add")
        self.page.fill("dialog input", "made")
        self.page.fill("dialog textarea", "here")
        self.page.key("Enter", "ctrl")
        self.wait_row("made", '"here"')
        self.act("export")
        self.notice("Exported")
