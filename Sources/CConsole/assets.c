#include "CConsole.h"

/* One array for each file of `assets`; a test compares the list with the folder. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char accounts_page_js[] = {
#embed "assets/accounts-page.js"
};
static const unsigned char additions_page_js[] = {
#embed "assets/additions-page.js"
};
static const unsigned char backups_page_js[] = {
#embed "assets/backups-page.js"
};
static const unsigned char chart_js[] = {
#embed "assets/chart.js"
};
static const unsigned char connections_page_js[] = {
#embed "assets/connections-page.js"
};
static const unsigned char data_page_js[] = {
#embed "assets/data-page.js"
};
static const unsigned char dialog_js[] = {
#embed "assets/dialog.js"
};
static const unsigned char diff_js[] = {
#embed "assets/diff.js"
};
static const unsigned char dom_js[] = {
#embed "assets/dom.js"
};
static const unsigned char editing_js[] = {
#embed "assets/editing.js"
};
static const unsigned char format_js[] = {
#embed "assets/format.js"
};
static const unsigned char hash_js[] = {
#embed "assets/hash.js"
};
static const unsigned char history_page_js[] = {
#embed "assets/history-page.js"
};
static const unsigned char icon_svg[] = {
#embed "assets/icon.svg"
};
static const unsigned char index_html[] = {
#embed "assets/index.html"
};
static const unsigned char json_js[] = {
#embed "assets/json.js"
};
static const unsigned char keys_js[] = {
#embed "assets/keys.js"
};
static const unsigned char known_tree_js[] = {
#embed "assets/known-tree.js"
};
static const unsigned char log_page_js[] = {
#embed "assets/log-page.js"
};
static const unsigned char main_js[] = {
#embed "assets/main.js"
};
static const unsigned char metrics_page_js[] = {
#embed "assets/metrics-page.js"
};
static const unsigned char pages_js[] = {
#embed "assets/pages.js"
};
static const unsigned char poll_js[] = {
#embed "assets/poll.js"
};
static const unsigned char profile_page_js[] = {
#embed "assets/profile-page.js"
};
static const unsigned char live_query_js[] = {
#embed "assets/live-query.js"
};
static const unsigned char published_file_js[] = {
#embed "assets/published-file.js"
};
static const unsigned char query_panel_js[] = {
#embed "assets/query-panel.js"
};
static const unsigned char queues_page_js[] = {
#embed "assets/queues-page.js"
};
static const unsigned char rules_editor_js[] = {
#embed "assets/rules-editor.js"
};
static const unsigned char rules_lexer_js[] = {
#embed "assets/rules-lexer.js"
};
static const unsigned char rules_page_js[] = {
#embed "assets/rules-page.js"
};
static const unsigned char rules_tests_js[] = {
#embed "assets/rules-tests.js"
};
static const unsigned char session_js[] = {
#embed "assets/session.js"
};
static const unsigned char settings_page_js[] = {
#embed "assets/settings-page.js"
};
static const unsigned char sign_in_js[] = {
#embed "assets/sign-in.js"
};
static const unsigned char simulator_js[] = {
#embed "assets/simulator.js"
};
static const unsigned char socket_js[] = {
#embed "assets/socket.js"
};
static const unsigned char style_css[] = {
#embed "assets/style.css"
};
static const unsigned char table_js[] = {
#embed "assets/table.js"
};
static const unsigned char transfer_js[] = {
#embed "assets/transfer.js"
};
static const unsigned char tree_model_js[] = {
#embed "assets/tree-model.js"
};
static const unsigned char tree_view_js[] = {
#embed "assets/tree-view.js"
};
static const unsigned char triggers_page_js[] = {
#embed "assets/triggers-page.js"
};
static const unsigned char value_form_js[] = {
#embed "assets/value-form.js"
};
static const unsigned char writes_js[] = {
#embed "assets/writes.js"
};

#pragma clang diagnostic pop

#define ASSET(name, array) {name, array, sizeof array}

static const struct console_asset assets[] = {
    ASSET("accounts-page.js", accounts_page_js),
    ASSET("additions-page.js", additions_page_js),
    ASSET("backups-page.js", backups_page_js),
    ASSET("chart.js", chart_js),
    ASSET("connections-page.js", connections_page_js),
    ASSET("data-page.js", data_page_js),
    ASSET("dialog.js", dialog_js),
    ASSET("diff.js", diff_js),
    ASSET("dom.js", dom_js),
    ASSET("editing.js", editing_js),
    ASSET("format.js", format_js),
    ASSET("hash.js", hash_js),
    ASSET("history-page.js", history_page_js),
    ASSET("icon.svg", icon_svg),
    ASSET("index.html", index_html),
    ASSET("json.js", json_js),
    ASSET("keys.js", keys_js),
    ASSET("known-tree.js", known_tree_js),
    ASSET("log-page.js", log_page_js),
    ASSET("main.js", main_js),
    ASSET("metrics-page.js", metrics_page_js),
    ASSET("live-query.js", live_query_js),
    ASSET("pages.js", pages_js),
    ASSET("poll.js", poll_js),
    ASSET("profile-page.js", profile_page_js),
    ASSET("published-file.js", published_file_js),
    ASSET("query-panel.js", query_panel_js),
    ASSET("queues-page.js", queues_page_js),
    ASSET("rules-editor.js", rules_editor_js),
    ASSET("rules-lexer.js", rules_lexer_js),
    ASSET("rules-page.js", rules_page_js),
    ASSET("rules-tests.js", rules_tests_js),
    ASSET("session.js", session_js),
    ASSET("settings-page.js", settings_page_js),
    ASSET("sign-in.js", sign_in_js),
    ASSET("simulator.js", simulator_js),
    ASSET("socket.js", socket_js),
    ASSET("style.css", style_css),
    ASSET("table.js", table_js),
    ASSET("transfer.js", transfer_js),
    ASSET("tree-model.js", tree_model_js),
    ASSET("tree-view.js", tree_view_js),
    ASSET("triggers-page.js", triggers_page_js),
    ASSET("value-form.js", value_form_js),
    ASSET("writes.js", writes_js),
};

const struct console_asset *console_asset_list(void) { return assets; }

size_t console_asset_count(void) { return sizeof assets / sizeof assets[0]; }
