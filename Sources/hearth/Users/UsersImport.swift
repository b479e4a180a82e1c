import Glibc
import HearthAdmin
import HearthServer
import HearthShell
import HearthJSONValues
import HearthSystem

/// Makes users of the JSON of `firebase auth:export`.
struct UsersImport {
    private let file: String
    private let users: [JSONObject]
    /// How the passwords of which users were hashed, by their indices.
    private let groups: [(hashing: PasswordHashing, indices: [Int])]

    /// Users of one request, and their bytes: a request has at most 1000 and 16 MiB.
    private static let batchMax = (users: 500, bytes: 4 << 20)

    init(file: String, _ arguments: Arguments) throws(UsageError) {
        let isPiped = file == "-"
        self.file = isPiped ? "standard input" : file
        guard let text = isPiped ? FileBytes.read(from: STDIN_FILENO) : FileBytes.read(file) else {
            throw UsageError(message: "cannot read \(self.file)", hasHelp: false)
        }
        guard let object = (try? JSONValue(parsing: text))?.object, let entries = object["users"]?.array else {
            throw UsageError(message: "\(self.file) is no JSON object with a list 'users'", hasHelp: false)
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
        let general =
            try PasswordHashing(arguments) ?? PasswordHashing(members: object["hashConfig"]?.object ?? JSONObject())
        var groups: [PasswordHashing: [Int]] = [:]
        for (index, user) in users.enumerated() {
            let own = user["hashConfig"]?.object.map { PasswordHashing(members: $0) } ?? general
            guard own.algorithm != nil || user["passwordHash"] == nil else {
                throw UsageError(message: "\(self.file) has hashes of passwords: --hash-algo says how they were made")
            }
            groups[user["passwordHash"] == nil ? general : own, default: []].append(index)
        }
        self.groups = groups.map { ($0, $1) }.sorted { $0.indices[0] < $1.indices[0] }
    }

    func run(_ directory: UserDirectory) -> ExitCode {
        let (file, users, groups) = (file, users, groups)
        return directory.perform { admin throws(AdminError) in
            var done = 0
            var refused = 0
            for batch in Self.batches(of: groups, users) {
                var request = batch.hashing.members
                request["users"] = .array(batch.indices.map { .object(users[$0]) })
                let answer: JSONObject
                do throws(AdminError) { answer = try await admin.post(":batchCreate", request) } catch {
                    throw AdminError(
                        error.code, "\(error.message); \(done - refused) users were imported", word: error.word)
                }
                for problem in (answer["error"]?.array ?? []).compactMap(\.object) {
                    let place = Int(problem["index"]?.integer ?? 0)
                    let index = batch.indices.indices.contains(place) ? batch.indices[place] : 0
                    let id = users[index]["localId"]?.text ?? ""
                    let text = "\(file): user \(index + 1) (\(id)): \(problem["message"]?.text ?? "")"
                    StandardError.write(text.printable + "\n")
                    refused += 1
                }
                done += batch.indices.count
            }
            StandardOutput.line("\(users.count - refused) of \(users.count) users imported")
            return refused == 0 ? .success : .failure
        }
    }

    /// The users of each request, which all have passwords of one kind.
    private static func batches(
        of groups: [(hashing: PasswordHashing, indices: [Int])], _ users: [JSONObject]
    ) -> [(hashing: PasswordHashing, indices: [Int])] {
        var batches: [(hashing: PasswordHashing, indices: [Int])] = []
        for group in groups {
            var indices: [Int] = []
            var bytes = 0
            for index in group.indices {
                if indices.count == batchMax.users || bytes >= batchMax.bytes {
                    batches.append((group.hashing, indices))
                    indices = []
                    bytes = 0
                }
                indices.append(index)
                bytes += users[index].bytes.count
            }
            batches.append((group.hashing, indices))
        }
        return batches
    }
}
