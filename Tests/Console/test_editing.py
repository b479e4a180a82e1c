"""Changing data, and taking changes back."""

import json
import re

from support import ConsoleCase

BIG = "9007199254740993"


class Editing(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.server.request("PUT", "/.json", raw=(
            '{"text":"Hello","big":%s,"flag":true,"room":{"a":1,"b":{"c":[1,2]}},"note":{".value":"n",".priority":7}}' % BIG).encode())

    def edit(self, key, value, type=None):
        self.select(key)
        self.page.key("F2")
        self.page.wait("document.querySelector('form.inline input')")
        if type:
            self.page.choose("form.inline select", type)
        self.page.fill("form.inline input", value)
        self.page.key("Enter")
        self.page.wait("!document.querySelector('form.inline')")

    def test_edit_in_place(self):
        self.open()
        self.edit("text", "Goodbye")
        self.wait_row("text", '"Goodbye"')
        self.assertEqual(self.server.get("/text"), "Goodbye")

    def test_type_is_chosen(self):
        self.open()
        self.edit("text", "12")
        # Before that, the next edit would ask about a value that has changed.
        self.wait_row("text", '"12"')
        self.assertEqual(self.server.get("/text"), "12")
        self.edit("text", "12", type="number")
        self.wait_row("text", "12")
        self.assertEqual(self.server.get("/text"), 12)

    def test_large_integers_survive(self):
        self.open()
        self.wait_row("big", BIG)
        self.edit("big", "9223372036854775807")
        self.assertEqual(self.server.raw("/big"), "9223372036854775807")

    def test_neighbours_in_json_survive(self):
        raw = '{"__proto__":{"x":1},"big":%s,"small":1}' % BIG
        self.server.request("PUT", "/odd.json", raw=raw.encode())
        self.open()
        self.select("odd")
        self.page.key("F2")
        self.page.wait("document.querySelector('dialog textarea')")
        text = self.page.evaluate("document.querySelector('dialog textarea').value")
        self.page.fill("dialog textarea", text.replace('"small": 1', '"small": 2'))
        self.page.key("Enter", "ctrl")
        self.page.wait("!document.querySelector('dialog')")
        self.assertEqual(self.server.raw("/odd"), raw.replace('"small":1', '"small":2'))

    def test_invalid_number_is_explained(self):
        self.open()
        self.select("big")
        self.page.key("F2")
        self.page.fill("form.inline input", "12x")
        self.page.key("Enter")
        self.page.wait_text("A number is written like", "form.inline")
        self.page.key("Escape")
        self.page.wait("!document.querySelector('form.inline')")
        self.assertEqual(self.server.raw("/big"), BIG)

    def test_boolean(self):
        self.open()
        self.select("flag")
        self.page.key("F2")
        self.page.wait("document.querySelector('form.inline')")
        self.page.choose("form.inline select[aria-label^=Value]", "false")
        self.page.click("form.inline button.primary")
        self.wait_row("flag", "false")
        self.assertIs(self.server.get("/flag"), False)

    def test_server_time(self):
        self.open()
        self.select("text")
        self.page.key("F2")
        self.page.choose("form.inline select", "timestamp")
        self.page.click("form.inline button.primary")
        self.page.wait("!document.querySelector('form.inline')")
        self.assertGreater(self.server.get("/text"), 1_700_000_000_000)

    def test_priority_is_kept_and_set(self):
        self.open()
        self.page.wait_text("priority 7", ".tree")
        self.edit("note", "changed")
        self.assertIn('".priority":7', self.server.request("GET", "/note.json?format=export")[2].decode())
        self.select("note")
        self.act("priority")
        self.page.fill("dialog input", "high")
        self.page.key("Enter")
        self.page.wait_text("priority high", ".tree")

    def test_changed_meanwhile_is_not_overwritten_silently(self):
        self.open()
        self.select("text")
        self.page.key("F2")
        self.page.fill("form.inline input", "mine")
        # The row keeps its editor while others write.
        self.server.put("/text", "theirs")
        self.page.key("Enter")
        self.dialog("has changed meanwhile")
        self.dialog('"theirs"')
        self.page.click("dialog button", "Cancel")
        self.page.wait("!document.querySelector('dialog')")
        self.assertEqual(self.server.get("/text"), "theirs")

    def edit_in_place(self, key, text):
        self.select(key)
        self.page.key("F2")
        self.page.fill("form.inline input", text)

    def assert_edited(self, text):
        self.assertEqual(self.page.evaluate("document.activeElement.closest('form.inline') && document.activeElement.value"), text)

    def test_editor_stays_while_others_change_the_value(self):
        self.open()
        self.edit_in_place("text", "mi")
        self.server.put("/text", "theirs")
        self.page.wait(f"{self.row('text')}.querySelector('.by')?.textContent.includes('changed')")
        self.page.type("ne")
        self.assert_edited("mine")
        self.page.key("Enter")
        self.dialog("has changed meanwhile")
        self.page.click("dialog button", "Cancel")
        self.page.wait_text("Not saved", "form.inline")
        self.assert_edited("mine")
        self.page.key("Enter")
        self.page.click("dialog button.danger", "Overwrite")
        self.wait_row("text", '"mine"')
        self.assertEqual(self.server.get("/text"), "mine")

    def test_editor_stays_when_others_remove_the_value(self):
        self.open()
        self.expand("room")
        self.edit_in_place("a", "2")
        self.server.put("/room", None)
        self.page.wait(f"!{self.row('room')}")
        self.page.wait("document.querySelector('.row.gone form.inline')")
        self.assert_edited("2")
        self.page.key("Enter")
        self.dialog("Now there is: null")
        self.page.click("dialog button.danger", "Overwrite")
        self.page.wait("!document.querySelector('form.inline')")
        self.assertEqual(self.server.get("/room/a"), 2)

    def test_editor_stays_when_others_make_the_value_again(self):
        self.open()
        self.edit_in_place("text", "mine")
        self.server.put("/text", None)
        self.page.wait("document.querySelector('.row.gone:not(.flash-removed) form.inline')")
        self.server.put("/text", "theirs")
        self.page.wait("document.querySelector('.row:not(.gone) form.inline')")
        self.assert_edited("mine")
        self.assertEqual(self.page.evaluate("document.querySelectorAll('.tree .row').length"), 6)

    def test_json_stays_if_it_is_not_to_overwrite(self):
        self.server.put("/lines", "one\ntwo")
        self.open()
        for key, typed, theirs in (("room", '{"a":2}', {"a": 3}), ("lines", "three", "four")):
            self.select(key)
            self.page.key("F2")
            self.page.fill("dialog textarea", typed)
            self.server.put("/" + key, theirs)
            self.page.key("Enter", "ctrl")
            self.page.wait_text("has changed meanwhile", "dialog:last-of-type")
            self.page.click("dialog:last-of-type button", "Cancel")
            self.dialog("Not saved")
            self.assertEqual(self.page.evaluate("document.querySelector('dialog textarea').value"), typed)
            self.assertEqual(self.server.get("/" + key), theirs)
            self.page.key("Escape")
            self.page.wait("!document.querySelector('dialog')")

    def test_add(self):
        self.open()
        self.select("room")
        self.act("add")
        self.dialog("Add a child")
        self.assertRegex(self.page.evaluate("document.querySelector('dialog input').value"), "^-[-0-9A-Z_a-z]{19}$")
        self.page.fill("dialog input", "new")
        self.page.fill("dialog textarea", "child")
        self.page.key("Enter", "ctrl")
        self.wait_row("new", '"child"')
        self.assertEqual(self.server.get("/room/new"), "child")

    def test_add_does_not_replace(self):
        self.open()
        self.select("room")
        self.act("add")
        self.page.fill("dialog input", "a")
        self.page.fill("dialog textarea", "x")
        self.page.key("Enter", "ctrl")
        self.dialog("There is a child of that key already")
        self.page.fill("dialog input", "a.b")
        self.page.key("Enter", "ctrl")
        self.dialog("a key cannot contain .")
        self.page.key("Escape")
        self.assertEqual(self.server.get("/room/a"), 1)

    def test_rename_is_one_commit(self):
        self.open()
        self.select("room")
        self.act("rename")
        self.page.fill("dialog input", "hall")
        self.page.key("Enter")
        self.wait_row("hall")
        self.page.wait(f"!{self.row('room')}")
        self.assertEqual(self.server.get("/hall"), {"a": 1, "b": {"c": [1, 2]}})
        self.page.open(self.server.url + "#/default/history/")

    def test_remove_and_undo(self):
        self.open("room")
        self.select("b")
        self.page.key("Delete")
        self.page.wait(f"!{self.row('b')}")
        self.page.click("#notices button", "Undo")
        self.wait_row("b")
        self.assertEqual(self.server.get("/room/b"), {"c": [1, 2]})

    def test_remove_at_the_top_asks_for_the_name(self):
        self.open()
        self.select("/")
        self.page.key("Delete")
        self.dialog("Remove everything?")
        self.page.click("dialog button.danger")
        self.dialog("That is not what was asked for")
        self.page.fill("dialog input", "default")
        self.page.click("dialog button.danger")
        self.notice("Removed /")
        self.assertIsNone(self.server.get("/"))

    def test_undo_refuses_after_another_change(self):
        self.open()
        self.edit("text", "mine")
        self.server.put("/text", "theirs")
        self.wait_row("text", '"theirs"')
        self.act("undo")
        self.notice("has changed since")
        self.assertEqual(self.server.get("/text"), "theirs")

    def test_undo_of_json_that_the_server_keeps_in_another_form(self):
        self.open()
        self.select("room")
        self.page.key("F2")
        self.page.wait("document.querySelector('dialog textarea')")
        self.page.fill("dialog textarea", '{"a":[1,2],"none":{},"nothing":null,"leaf":{".value":3}}')
        self.page.key("Enter", "ctrl")
        self.page.wait("!document.querySelector('dialog')")
        self.assertEqual(self.server.get("/room"), {"a": [1, 2], "leaf": 3})
        self.act("undo")
        self.notice("Undone")
        self.assertEqual(self.server.get("/room"), {"a": 1, "b": {"c": [1, 2]}})

    def test_undo_of_a_priority_leaves_the_value_alone(self):
        self.open()
        self.select("note")
        self.act("priority")
        self.page.fill("dialog input", "8")
        self.page.key("Enter")
        self.page.wait_text("priority 8", ".tree")
        self.server.put("/note", {".value": "theirs", ".priority": 8})
        self.act("undo")
        self.notice("Undone")
        self.assertEqual(json.loads(self.server.request("GET", "/note.json?format=export")[2]),
                         {".value": "theirs", ".priority": 7})

    def test_line_breaks_survive(self):
        self.server.put("/lines", "one\ntwo")
        self.server.put("/windows", "one\r\ntwo")
        self.open()
        for key in ("lines", "windows"):
            before = self.server.get("/" + key)
            self.select(key)
            self.page.key("F2")
            self.page.wait("document.querySelector('dialog textarea')")
            self.page.key("Enter", "ctrl")
            self.page.wait("!document.querySelector('dialog')")
            self.assertEqual(self.server.get("/" + key), before)

    def test_undo_of_a_rename(self):
        self.open()
        self.select("room")
        self.act("rename")
        self.page.fill("dialog input", "hall")
        self.page.key("Enter")
        self.wait_row("hall")
        self.page.focus(".tree .row[tabindex='0']")
        self.page.key("z", "ctrl")
        self.notice("Undone")
        self.assertEqual(self.server.get("/room/a"), 1)
        self.assertIsNone(self.server.get("/hall"))

    def test_copy_path(self):
        self.open("room")
        self.select("b")
        self.act("copy")
        self.notice("Copied the path /room/b")
        self.assertEqual(self.page.evaluate("navigator.clipboard.readText()"), "/room/b")

    def test_hostile_value_in_dialogs(self):
        hostile = "<img src=x onerror=alert(1)>"
        self.server.put("/room", {hostile: {"deep": {"x": "y" * 300}}})
        self.open("room")
        self.select(hostile)
        self.act("remove")
        self.dialog(hostile)
        self.assertEqual(self.page.evaluate("document.querySelectorAll('img').length"), 0)
        self.page.key("Escape")


class Queries(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.server.put("/list", {f"k{i:03}": {"n": i % 10, "name": f"x{i}"} for i in range(60)})

    def test_query_by_child_names_the_missing_index(self):
        self.server.request("PUT", "/.settings/rules.json", {"rules": {".read": True, ".write": True}})
        self.open("list")
        self.wait_row("k001")
        self.act("query")
        self.page.choose(".panel select", "child")
        self.page.fill(".panel .field:nth-of-type(2) input", "n")
        self.page.fill(".panel .field:nth-of-type(3) input", "3")
        self.page.click(".panel button.primary")
        self.page.wait_text("6 children", ".panel")
        self.page.wait_text('"list": { ".indexOn": ["n"] }', ".panel")

    def test_query_with_an_index_and_a_limit(self):
        self.server.request("PUT", "/.settings/rules.json", {
            "rules": {".read": True, ".write": True, "list": {".indexOn": ["n"]}}})
        self.open("list")
        self.wait_row("k001")
        self.act("query")
        self.page.choose(".panel select", "child")
        self.page.fill(".panel .field:nth-of-type(2) input", "n")
        self.page.fill(".panel input[type=number]", "4")
        self.page.click(".panel button.primary")
        self.page.wait_text("4 children, as many as the limit lets through", ".panel")
        self.assertNotIn("indexOn", self.page.text(".panel"))


class Transfer(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.server.put("/", {"a": {"x": 1}, "b": 2})

    def write(self, text):
        import os
        path = os.path.join(self.server.folder, "import.json")
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_import_adds(self):
        self.open("a")
        self.wait_row("x")
        self.select("a")
        self.act("import")
        self.page.put_file("dialog input[type=file]", self.write('{"y":9007199254740993}'))
        self.page.click("dialog button.primary")
        self.notice("Imported import.json")
        self.wait_row("y", "9007199254740993")
        self.assertEqual(self.server.raw("/a"), '{"x":1,"y":9007199254740993}')

    def test_progress_is_told(self):
        self.open("a")
        self.wait_row("x")
        self.page.evaluate("""window.told = [];
          new MutationObserver(() => {
            const bar = document.querySelector('#notices progress');
            if (bar) told.push(bar.parentNode.textContent);
          }).observe(document.getElementById('notices'), { childList: true, subtree: true, characterData: true })""")
        self.select("a")
        self.act("import")
        self.page.put_file("dialog input[type=file]", self.write(json.dumps({"y%d" % n: "x" * 1000 for n in range(8000)})))
        self.page.click("dialog button.primary")
        self.notice("Imported import.json")
        self.act("export")
        self.notice("Exported 7.7 MiB")
        told = self.page.evaluate("told")
        for part in (r"Importing.* of 7\.7 MiB", r"Importing.*The server is writing", r"Exporting.*[0-9.]+ [KM]iB"):
            self.assertTrue(any(re.search(part, text) for text in told), (part, told[:20]))

    def test_import_that_replaces_asks(self):
        self.open("a")
        self.select("a")
        self.act("import")
        self.page.put_file("dialog input[type=file]", self.write('{"z":1}'))
        self.page.choose("dialog select", "PUT")
        self.page.click("dialog button.primary")
        self.dialog("Replace what is there?")
        self.page.fill("dialog input", "a")
        self.page.click("dialog button.danger")
        self.wait_row("z", "1")
        self.assertEqual(self.server.get("/a"), {"z": 1})

    def test_going_back_to_another_database_leaves_the_question(self):
        for database in ("aaa", "bbb"):
            self.server.put("/x", {"in": database}, database=database)
        self.open("x", database="bbb")
        self.wait_row("in", '"bbb"')
        self.page.evaluate("location.hash = '#/aaa/data/x'")
        self.wait_row("in", '"aaa"')
        self.act("import")
        self.page.put_file("dialog input[type=file]", self.write('{"z":1}'))
        self.page.choose("dialog select", "PUT")
        self.page.click("dialog button.primary")
        self.dialog("in the database aaa will be replaced")
        self.page.evaluate("history.back()")
        self.page.wait("!document.querySelector('dialog[open]')")
        self.wait_row("in", '"bbb"')
        for database in ("aaa", "bbb"):
            self.assertEqual(self.server.get("/x", database=database), {"in": database})

    def test_import_of_what_is_no_json(self):
        self.open("a")
        self.select("a")
        self.act("import")
        self.page.put_file("dialog input[type=file]", self.write('{"z":'))
        self.page.click("dialog button.primary")
        self.page.wait("document.querySelector('#notices .error')")
        self.assertEqual(self.server.get("/a"), {"x": 1})
        self.page.problems.clear()

    def test_export(self):
        self.open()
        self.wait_row("a")
        self.page.evaluate("window.made = []; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { made.push(blob); return make.call(URL, blob); }")
        self.select("a")
        self.act("export")
        self.notice("Exported 7 B")
        self.assertEqual(self.page.evaluate("made[0].text()"), '{"x":1}')


class LongTexts(ConsoleCase):
    def test_long_text_is_edited_as_text(self):
        self.server.request("PUT", "/long.json", raw=b'{".value":"' + b"x" * 5000 + b'",".priority":3}')
        self.open()
        self.select("long")
        self.page.key("F2")
        self.page.wait("document.querySelector('dialog textarea')?.value.length === 5000")
        self.page.fill("dialog textarea", '"quoted"\nand more')
        self.page.key("Enter", "ctrl")
        self.page.wait("!document.querySelector('dialog')")
        self.assertEqual(json.loads(self.server.request("GET", "/long.json?format=export")[2]),
                         {".value": '"quoted"\nand more', ".priority": 3})


class Narrow(ConsoleCase):
    width, height = 360, 740

    def test_edit_in_a_dialog(self):
        self.server.put("/", {"text": "before"})
        self.open()
        self.select("text")
        self.act("edit")
        self.page.fill("dialog textarea", "after")
        self.page.key("Enter", "ctrl")
        self.wait_row("text", '"after"')
