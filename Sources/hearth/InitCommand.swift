import Glibc
import HearthJSONValues
import HearthServer
import HearthShell

extension Command {
    static let initialize = Command(
        name: "init", synopsis: "[DIR]",
        summary: "Make a folder with a configuration, rules, their tests and a systemd unit.",
        json: #"{"file"} for each file that was written."#,
        details: """
            Writes hearth.conf, rules.json, rules.test.json and hearth.service into DIR (default: the current folder), which
            may be new. A file that exists is never replaced: then nothing is written.

            The rules let each user read and write /users/UID, and nobody anything else. The server listens on
            127.0.0.1:9000, and its data folder is DIR/data. The unit is one of the user: 'systemctl --user enable --now
            DIR/hearth.service'.
            """,
        options: Arguments.Option.output
    ) { arguments throws(UsageError) in
        guard arguments.positional.count <= 1 else {
            throw UsageError(message: "unexpected '\(arguments.positional[1])'")
        }
        var files = try ProgramOutput(arguments).list
        do throws(NewFolder.Failure) {
            try NewFolder(arguments.positional.first ?? ".").write {
                files.append(JSONObject(["file": .text($0)]), [$0])
            }
            files.end()
            return .success
        } catch {
            StandardError.write("hearth init: \(error.message)\n")
            return .failure
        }
    }
}

/// The folder of a new server.
private struct NewFolder {
    struct Failure: Error {
        var message: String
    }

    private let path: String

    /// Makes the folder unless there is one.
    init(_ path: String) throws(Failure) {
        guard !path.isEmpty, mkdir(path, 0o700) == 0 || errno == EEXIST, let found = realpath(path, nil) else {
            throw Failure(message: "cannot make the folder '\(path)': \(String(cString: strerror(errno)))")
        }
        defer { free(found) }
        self.path = String(cString: found)
        guard !self.path.contains(where: \.isWhitespace) else {
            throw Failure(message: "the name of the folder has spaces, which systemd would take apart: \(self.path)")
        }
    }

    /// Writes all files, or none if one of them exists.
    ///
    /// - parameter report: told of each file that is written.
    func write(_ report: (String) -> Void) throws(Failure) {
        let files = [
            ("hearth.conf", configuration), ("rules.json", Self.rules), ("rules.test.json", Self.tests),
            ("hearth.service", unit),
        ]
        for (name, _) in files where access("\(path)/\(name)", F_OK) == 0 {
            throw Failure(message: "\(path)/\(name) exists already; nothing was written")
        }
        for (name, text) in files {
            do throws(ShellError) {
                let file = try OutputFile("\(path)/\(name)", replaces: false)
                _ = file.write(Array(text.utf8))
                _ = try file.finish()
            } catch {
                throw Failure(message: error.message ?? "")
            }
            report("\(path)/\(name)")
        }
        StandardError.write("next: hearth serve --config \(path)/hearth.conf\n")
    }

    private var configuration: String {
        SampleConfiguration.text([
            "listen": "127.0.0.1:9000", "data": "\(path)/data", "rules": "\(path)/rules.json", "durability": "full",
            "log-level": "info",
        ])
    }

    private static let rules = """
        {
          "rules": {
            // Each user reads and writes their own data. All other access is denied.
            "users": {
              "$uid": {
                ".read": "auth != null && auth.uid === $uid",
                ".write": "auth != null && auth.uid === $uid"
              }
            }
          }
        }

        """

    /// For 'hearth rules test'.
    private static let tests = """
        {
          "rules": "rules.json",
          "data": {"users": {"ann": {"name": "Ann"}}},
          "tests": [
            {"name": "users read what is theirs", "as": "ann", "read": "/users/ann", "allowed": true},
            {"name": "and write it", "as": "ann", "write": "/users/ann/name", "value": "Anna", "allowed": true},
            {"name": "others do not read it", "as": "bob", "read": "/users/ann", "allowed": false},
            {"name": "or write it", "as": "bob", "write": "/users/ann/name", "value": "Bob", "allowed": false},
            {"name": "signed out, nobody reads it", "as": null, "read": "/users/ann", "allowed": false},
            {"name": "nobody reads everything", "as": "ann", "read": "/", "allowed": false}
          ]
        }

        """

    private var unit: String {
        let program = realpath("/proc/self/exe", nil)
        defer { free(program) }
        return """
            [Unit]
            Description=Hearth realtime database in \(path)

            [Service]
            Type=notify
            ExecStart=\(program.map { String(cString: $0) } ?? "hearth") serve --config \(path)/hearth.conf
            ExecReload=/bin/kill -HUP $MAINPID
            Restart=on-failure
            RestartSec=1
            # A mistake in the options or the rules does not go away by itself (EX_USAGE, EX_DATAERR).
            RestartPreventExitStatus=64 65
            TimeoutStartSec=15min
            TimeoutStopSec=60
            UMask=0077

            [Install]
            WantedBy=default.target

            """
    }
}
