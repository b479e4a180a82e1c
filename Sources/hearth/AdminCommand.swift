import Glibc
import HearthShell
import HearthIdentity
import HearthJSONValues
import HearthStorageErrors
import HearthTreeStorage
import HearthAccess
import HearthSystem

extension Command {
    static let admin = group(
        "admin", summary: "Make, list and remove the keys of administrators' programs.",
        details: "The server keeps only the public half of a key, in the data folder.",
        options: [.init(name: "data", value: "DIR", help: "the data folder (default ./data)")],
        [
            Command(
                name: "create-key", synopsis: "FILE [OPTIONS]", summary: "Make a key.",
                json: #"{"file", "tokenUrl"}."#,
                details: """
                    FILE is in Google's format for service accounts: give it to an admin SDK as its credential. Whoever has it
                    may do everything.
                    """,
                options: [
                    .init(
                        name: "new-folder", value: nil,
                        help: "make the data folder, or take one in which no server has run yet"),
                    .init(name: "project", value: "NAME", help: "the project in the file (default 'hearth')"),
                    .init(name: "email", value: "NAME", help: "the account's name (default hearth@PROJECT)"),
                    .init(
                        name: "token-url", value: "URL",
                        help: "where programs get tokens: /token of the admin listener (default: the last server's)"),
                ] + Arguments.Option.output
            ) { arguments throws(UsageError) in
                let file = try arguments.positional("FILE")[0]
                return AdminTask.createKey(file: file, try ProgramOutput(arguments)).perform(arguments)
            },
            Command(
                name: "keys", synopsis: "", summary: "List the keys.",
                json: #"{"id", "email"} for each key."#, options: Arguments.Option.output
            ) { arguments throws(UsageError) in
                _ = try arguments.positional()
                return AdminTask.listKeys(try ProgramOutput(arguments)).perform(arguments)
            },
            Command(
                name: "remove-key", synopsis: "ID",
                summary: "End a key, all tokens that were given for it and the connections that they opened.",
                details: "A server that runs on the folder takes notice within a second.", options: []
            ) { arguments throws(UsageError) in
                AdminTask.removeKey(id: try arguments.positional("ID")[0]).perform(arguments)
            },
        ])
}

/// A task of `hearth admin`.
private enum AdminTask {
    case createKey(file: String, ProgramOutput)
    case listKeys(ProgramOutput)
    case removeKey(id: String)

    private struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    func perform(_ arguments: Arguments) -> ExitCode {
        do {
            try run(arguments)
            return .success
        } catch {
            StandardError.write("hearth admin: \(error)\n")
            return .failure
        }
    }

    private func run(_ arguments: Arguments) throws {
        let folder = arguments["data"] ?? "./data"
        try check(folder, mayBeNew: arguments.flag("new-folder"))
        let accounts = try ServiceAccounts(folder: folder)
        switch self {
        case .createKey(let file, let output):
            if access(file, F_OK) == 0 { throw Failure(description: "\(file) is there already") }
            let project = arguments["project"] ?? "hearth"
            let tokenURL = arguments["token-url"] ?? (AdminURL(in: folder) ?? .usual).text + "/token"
            let key = try accounts.makeKey(
                email: arguments["email"] ?? "hearth@\(project)", project: project,
                tokenURI: tokenURL, now: WallClock.milliseconds / 1000)
            try PrivateFile.replace(file, with: key, keepsOwner: false)
            output.show(
                JSONObject(["file": .text(file), "tokenUrl": .text(tokenURL)]), ["\(file): a key of \(tokenURL)"])
        case .listKeys(let output):
            output.show(
                accounts.keys.map { key in
                    (JSONObject(["id": .text(key.id), "email": .text(key.email)]), "\(key.id)  \(key.email)")
                })
        case .removeKey(let id):
            guard try accounts.removeKey(id) else { throw Failure(description: "there is no key \(id)") }
        }
    }

    /// Throws unless a server uses the folder: a key for another one would be useless, without any warning.
    private func check(_ path: String, mayBeNew: Bool) throws(Failure) {
        let folder = ServedFolder(path)
        do throws(StorageError) { try FolderContents(path).requireWhole() } catch {
            throw Failure(description: error.message)
        }
        if folder.isUsed { return }
        guard case .createKey = self else {
            throw Failure(description: "\(path) is not the data folder of a server: --data names it")
        }
        guard mayBeNew else {
            throw Failure(
                description: "\(path) is not the data folder of a server: --data names it, "
                    + "or --new-folder makes it before the server's first start")
        }
        let code = FolderSync.makeFolder(path)
        guard code == 0 else {
            throw Failure(description: "cannot make the data folder \(path): \(String(cString: strerror(code)))")
        }
    }
}
