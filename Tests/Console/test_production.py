"""The screens at a production server, with the key of an administrator."""

import json
import os

from support import PICTURES, ProductionCase


class Production(ProductionCase):
    expected_problems = ("400 (Bad Request)",)
    rules = """{
  "rules": {
    "public": {".read": true, ".write": "auth != null"}
  }
}
"""

    def setUp(self):
        super().setUp()
        self.page.open(self.link(self.make_key()))
        self.page.wait_text("Connected", "#connection")

    def show(self, screen):
        self.page.evaluate(f"location.hash = '#/default/{screen}'")
        self.page.wait(f"document.querySelector('#pages [aria-current=page]')?.dataset.page === '{screen}'")

    def ask(self, method, path, value=None):
        """A request of a stranger, at the public listener."""
        import urllib.error
        import urllib.request
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(f"http://{self.server.address}{path}", body, method=method)
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def test_every_screen_shows_the_server(self):
        self.assertEqual(self.ask("PUT", "/public/a.json", 1), 401)
        for screen, text in (
            ("data", "/"), ("rules", "These rules are in force."), ("accounts", "Create account"),
            ("connections", "administrator"), ("profile", "Profile"), ("history", "commit"),
            ("backups", "no backups yet"), ("log", "server.started"), ("metrics", "Operations"),
            ("settings", "Options in force"),
        ):
            self.show(screen)
            self.page.wait_text(text, "main")
            self.page.screenshot(os.path.join(PICTURES, f"Production-{screen}.png"))
        self.show("settings")
        self.page.wait_text("production", "main")
        # The key is that of an administrator, and nothing of it is shown.
        self.assertNotIn("PRIVATE KEY", self.page.text("body"))

    def test_denials_of_strangers_open_in_the_simulator(self):
        self.assertEqual(self.ask("PUT", "/public/a.json", 1), 401)
        self.assertEqual(self.ask("GET", "/public/a.json"), 200)
        self.show("rules")
        self.page.wait_text("/public/a", "main table")
        self.page.click("main table button", "Simulate")
        self.page.wait_text("denied", ".verdict")
        self.page.wait_text("auth != null", "[aria-label=Decision]")

    def test_rules_are_published(self):
        self.show("rules")
        self.page.wait("document.querySelector('.editor textarea')?.value")
        self.page.fill(".editor textarea", self.rules.replace("public", "other"))
        self.page.click("button.primary", "Publish…")
        self.page.click("dialog button.primary")
        self.notice("The rules are in force")
        self.assertEqual(self.ask("GET", "/public/a.json"), 401)
        self.assertEqual(self.ask("GET", "/other/a.json"), 200)
        self.page.fill(".editor textarea", self.rules)
        self.page.click("button.primary", "Publish…")
        self.page.click("dialog button.primary")
        self.page.wait("document.querySelector('main .muted[role=status]').textContent === 'These rules are in force.'")
        self.assertEqual(self.ask("GET", "/public/a.json"), 200)

    def test_account_is_created(self):
        self.show("accounts")
        self.page.click("button", "Create account…")
        self.page.fill("dialog input[inputmode=email]", "new@example.com")
        self.page.fill("dialog input[type=password]", "long enough")
        self.page.key("Enter")
        self.page.wait_text("new@example.com", "main table")

    def test_history_and_backup(self):
        self.select("/")
        self.act("add")
        self.page.fill("dialog input", "written")
        self.page.fill("dialog textarea", "by an administrator")
        self.page.key("Enter", "ctrl")
        self.wait_row("written", '"by an administrator"')
        self.show("history")
        self.page.wait_text("by an administrator", "main table")
        self.show("backups")
        self.page.wait("document.querySelector('.status').textContent")
        self.page.click("button", "Back up now")
        self.notice("Backed up default")
        self.page.click("table button", "Check")
        self.page.wait_text("is whole: database default")
        self.page.click("table button", "Download")
        self.page.wait_text("Downloaded")
