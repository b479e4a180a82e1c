import HearthAdmin
import HearthJSONValues

/// Makes users of the JSON of `firebase auth:export`.
struct UsersImport {
    private let session: ShellSession
    /// For messages.
    private let file: String
    private let users: [JSONObject]
    /// How the passwords of which users were hashed, by their indices.
    private let groups: [(hashing: PasswordHashing, indices: [Int])]

    /// Users of one request, and their bytes: a request has at most 1000 and 16 MiB.
    private static let batchMax = (users: 500, bytes: 4 << 20)

    init(_ session: ShellSession, _ arguments: ShellArguments) throws(ShellError) {
        self.session = session
        let word = arguments.words[0].text
        if word == "-" { try session.expectInput() }
        file = word == "-" ? "standard input" : word
        let text = try InputFile.contents(of: word, bytesMax: Self.bytesMax)
        guard let object = (try? JSONValue(parsing: text))?.object, let entries = object["users"]?.array else {
            throw .data("\(file) is not a JSON object with a list 'users'")
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
                throw .usage("\(file) has hashes of passwords: --hash-algo says how they were made")
            }
            groups[user["passwordHash"] == nil ? general : own, default: []].append(index)
        }
        self.groups = groups.map { ($0, $1) }.sorted { $0.indices[0] < $1.indices[0] }
    }

    /// A file is in memory as a whole.
    private static let bytesMax = 4 << 30

    func run(_ arguments: ShellArguments) async throws(ShellError) {
        if session.isDry {
            let change = JSONObject(["users": .integer(Int64(users.count))])
            return try await session.change("import \(users.count) users", as: change) { () throws(ShellError) in }
        }
        var done = 0
        var refused = 0
        for batch in Self.batches(of: groups, users) {
            var request = batch.hashing.members
            request["allowOverwrite"] = .bool(arguments.has("overwrite"))
            request["users"] = .array(batch.indices.map { .object(users[$0]) })
            let asked = request
            let answer: JSONObject
            do throws(ShellError) {
                answer = try await session.administering(arguments) { (admin) throws(AdminError) in
                    try await admin.post(":batchCreate", asked)
                }
            } catch {
                let state = "\(done - refused) users were imported"
                if case .stopped = error { session.tell(state) }
                throw error.adding("; \(state)")
            }
            for problem in (answer["error"]?.array ?? []).compactMap(\.object) {
                let place = Int(problem["index"]?.integer ?? 0)
                let index = batch.indices.indices.contains(place) ? batch.indices[place] : 0
                let id = users[index]["localId"]?.text ?? ""
                let text = "\(file): user \(index + 1) (\(id)): \(problem["message"]?.text ?? "")"
                session.tell(text.printable)
                refused += 1
            }
            done += batch.indices.count
        }
        let imported = users.count - refused
        let result = JSONObject(["imported": .integer(Int64(imported)), "refused": .integer(Int64(refused))])
        try session.show(.object(result)) { ["\(imported) of \(users.count) users imported"] }
        if refused > 0 { throw .negative }
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
