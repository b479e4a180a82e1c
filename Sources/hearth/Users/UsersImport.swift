import HearthClient
import HearthServer
import HearthShell
import JSONWebTokens

/// Makes users of the JSON of `firebase auth:export`.
struct UsersImport {
    private let file: String
    private let users: [JSONObject]
    /// What says how the passwords were hashed; empty if nothing does.
    private let hashing: JSONObject

    /// Users of one request, and their bytes: a request has at most 1000 and 16 MiB.
    private static let batchMax = (users: 500, bytes: 4 << 20)

    init(file: String, _ arguments: Arguments) throws(UsageError) {
        self.file = file
        guard let text = FileBytes.read(file) else { throw UsageError(message: "cannot read \(file)") }
        guard let object = (try? JSONValue(parsing: text))?.object, let entries = object["users"]?.array else {
            throw UsageError(message: "\(file) is no JSON object with a list 'users'")
        }
        users = entries.map { entry in
            var user = entry.object ?? JSONObject()
            // The one member that the format calls otherwise than the request does.
            if let time = user["lastSignedInAt"] {
                user["lastSignedInAt"] = nil
                user["lastLoginAt"] = time
            }
            return user
        }
        if arguments["hash-algo"] != nil {
            hashing = try Self.hashing(arguments)
        } else {
            hashing = object["hashConfig"]?.object ?? JSONObject()
        }
        guard hashing["hashAlgorithm"] != nil || !users.contains(where: { $0["passwordHash"] != nil }) else {
            throw UsageError(message: "\(file) has hashes of passwords: --hash-algo says how they were made")
        }
    }

    /// The options of the Firebase tools, under the names that the request has.
    private static func hashing(_ arguments: Arguments) throws(UsageError) -> JSONObject {
        let algorithm = (arguments["hash-algo"] ?? "").uppercased()
        var members = JSONObject(["hashAlgorithm": .text(algorithm)])
        members["signerKey"] = arguments["hash-key"].map { .text($0) }
        members["saltSeparator"] = arguments["salt-separator"].map { .text($0) }
        for (option, name) in [
            ("rounds", "rounds"), ("mem-cost", algorithm == "STANDARD_SCRYPT" ? "cpuMemCost" : "memoryCost"),
            ("parallelization", "parallelization"), ("block-size", "blockSize"), ("dk-len", "dkLen"),
        ] {
            members[name] = try arguments.integer(option, 0...1 << 30).map { .integer(Int64($0)) }
        }
        switch arguments["hash-input-order"] {
        case nil: break
        case "SALT_FIRST": members["passwordHashOrder"] = .text("SALT_AND_PASSWORD")
        case "PASSWORD_FIRST": members["passwordHashOrder"] = .text("PASSWORD_AND_SALT")
        case let text?:
            throw UsageError(message: "--hash-input-order is SALT_FIRST or PASSWORD_FIRST, not '\(text)'")
        }
        return members
    }

    func run(_ directory: UserDirectory) -> ExitCode {
        let (file, users, hashing) = (file, users, hashing)
        return directory.perform { session throws(ConnectionError) in
            var start = 0
            var refused = 0
            while start < users.count {
                var end = start
                var bytes = 0
                while end < users.count, end - start < Self.batchMax.users, bytes < Self.batchMax.bytes {
                    bytes += users[end].bytes.count
                    end += 1
                }
                var request = hashing
                request["users"] = .array(users[start..<end].map { .object($0) })
                let answer: JSONObject
                do throws(ConnectionError) {
                    answer = try await session.post(":batchCreate", request)
                } catch .refused(let status, let text) {
                    throw .refused(status: status, text: "\(text); \(start - refused) users were imported")
                }
                for problem in (answer["error"]?.array ?? []).compactMap(\.object) {
                    let index = start + Int(problem["index"]?.integer ?? 0)
                    let id = users.indices.contains(index) ? users[index]["localId"]?.text ?? "" : ""
                    let text = "\(file): user \(index + 1) (\(id)): \(problem["message"]?.text ?? "")"
                    StandardError.write(text.printable + "\n")
                    refused += 1
                }
                start = end
            }
            StandardOutput.line("\(users.count - refused) of \(users.count) users imported")
            return refused == 0 ? .success : .failure
        }
    }
}
