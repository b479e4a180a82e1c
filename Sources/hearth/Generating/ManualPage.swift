import HearthShell
import HearthSystem

/// Manual pages (man(7)) of the commands and of the configuration file.
enum ManualPage {
    static var commands: String {
        var page = head("HEARTH", section: 1, "User Commands")
        page += section("NAME", "hearth \\- self-hosted realtime database that Firebase SDKs can use\n")
        page += section("SYNOPSIS", ".B hearth\n.I COMMAND\n.RI [ OPTIONS ]\n")
        page += section(
            "DESCRIPTION",
            text(
                "Hearth keeps one JSON tree per database in SQLite and tells everybody who listens about every change. "
                    + "It speaks the protocols of the Firebase Realtime Database and of Firebase Authentication."))
        page += section(
            "OPTIONS",
            text(
                "Options can also be set in the environment: those of 'serve' and of the server's address as HEARTH_LOG_LEVEL "
                    + "and HEARTH_URL, others as HEARTH_LS_LIMIT, for 'hearth ls --limit'. What the command "
                    + "line says wins, then the environment, then the file that --config names."))
        page += ".SH COMMANDS\n"
        for command in Command.all {
            page += entry(command, options: command.options)
            let common = command.options.map(\.name)
            for subcommand in command.subcommands {
                page += entry(subcommand, options: subcommand.options.filter { !common.contains($0.name) })
            }
        }
        page += section(
            "EXIT STATUS",
            item("0", "The command did what was asked.") + item("1", "The operation was refused or failed.")
                + item("64", "The command line or the configuration is wrong.")
                + item("65", "What a file or standard input holds is wrong.")
                + item("69", "The server cannot be reached.") + item("130, 143", "SIGINT or SIGTERM ended the command.")
        )
        page += section(
            "FILES",
            item("/etc/hearth/hearth.conf", "The configuration of the service.")
                + item("/etc/hearth/rules.json", "The rules of the service.")
                + item("/var/lib/hearth", "The data folder of the service."))
        page += section("SEE ALSO", ".BR hearth.conf (5)\n")
        return page
    }

    private static func entry(_ command: Command, options: [Arguments.Option]) -> String {
        var entry = ".SS hearth \(escaped(command.fullName)) \(escaped(command.synopsis))\n" + text(command.summary)
        if !command.details.isEmpty { entry += ".PP\n" + text(command.details) }
        if !command.json.isEmpty { entry += ".PP\n" + text("JSON: \(command.json)") }
        if !command.subcommands.isEmpty, !options.isEmpty { entry += ".PP\nOptions of all its subcommands:\n" }
        return entry
            + list(options) { option in
                (option.letter.map { "\\fB\\-\($0)\\fR, " } ?? "") + bold("--\(option.name)")
            }
    }

    static var configuration: String {
        var page = head("HEARTH.CONF", section: 5, "File Formats")
        page += section("NAME", "hearth.conf \\- configuration of the Hearth server\n")
        page += section(
            "DESCRIPTION",
            text(
                "A text file that 'hearth serve --config FILE' reads. Each line has the form 'option = value'. Empty "
                    + "lines and lines that begin with # are ignored. Options without a value take true or false. "
                    + "'hearth serve --check --config FILE' looks for mistakes in it."))
        page += ".SH OPTIONS\n" + list(Command.serve.options.filter { $0.name != "config" }) { bold($0.name) }
        page += section("SEE ALSO", ".BR hearth (1)\n")
        return page
    }

    private static func head(_ name: String, section: Int, _ title: String) -> String {
        ".TH \(name) \(section) \"\" \"Hearth \(Version.current)\" \"\(title)\"\n"
    }

    private static func section(_ title: String, _ body: String) -> String { ".SH \(title)\n\(body)" }

    private static func list(_ options: [Arguments.Option], name: (Arguments.Option) -> String) -> String {
        options.map { option in
            let value = option.value.map { " \\fI\(escaped($0))\\fR" } ?? ""
            return ".TP\n\(name(option))\(value)\n" + text(option.help)
        }.joined()
    }

    private static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

    private static func item(_ name: String, _ body: String) -> String { ".TP\n\(escaped(name))\n" + text(body) }

    /// Running text, of which no line may begin with a control character.
    private static func text(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: true).map { line in
            let line = escaped(String(line))
            return (line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" : "") + line + "\n"
        }.joined()
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    }
}
