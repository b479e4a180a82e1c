/// What the manifest says of the modules.
enum Manifest {
    private static let text = SourceTree.file("Package.swift")?.lines.joined(separator: " ") ?? ""

    /// The rooms of the manifest, with the names of the rooms that they use.
    static let rooms: [String: Set<String>] = {
        var rooms: [String: Set<String>] = [:]
        let room = #/Room\(\s*name: "(\w+)"(?:,\s*uses: \[([^\]]*)\])?/#
        for match in text.matches(of: room) { rooms[String(match.1)] = quoted(match.2 ?? "") }
        return rooms
    }()

    /// The folders in `Tests`, with the names of the modules that they may use.
    static let tests: [String: Set<String>] = {
        var tests: [String: Set<String>] = [:]
        for text in text.split(separator: "Room(").dropFirst() {
            guard let name = text.firstMatch(of: #/^\s*name: "(\w+)"/#)?.1 else { continue }
            let more = text.firstMatch(of: #/testsUse: \[([^\]]*)\]/#)?.1 ?? ""
            let used = (rooms[String(name)] ?? []).union(quoted(more))
            tests["\(name)Tests"] = used.union([String(name), "TestSupport"])
        }
        let lists = Dictionary(
            uniqueKeysWithValues: text.matches(of: #/let (\w+) = \[([^\]]*)\]/#).map { ($0.1, quoted($0.2)) })
        for match in text.matches(of: #/name: (?:module\()?"(\w+)"\)?,\s*dependencies: dependencies\(([^)]*)\)/#) {
            let named = match.2.split { !$0.isLetter }.compactMap { lists[$0] }
            tests[String(match.1)] = named.reduce(quoted(match.2)) { $0.union($1) }
        }
        return tests
    }()

    private static func quoted(_ text: Substring) -> Set<String> {
        Set(text.matches(of: #/"(\w+)"/#).map { String($0.1) })
    }

    /// A room, and all that it uses, at once or through others.
    ///
    /// - parameter transport: left out, with all that only it brings in.
    static func closure(of room: String, without transport: String? = nil) -> Set<String> {
        var found: Set = [room]
        var open = [room]
        while let next = open.popLast() {
            for used in rooms[next] ?? [] where used != transport && found.insert(used).inserted { open.append(used) }
        }
        return found
    }

    /// The folder of a module, which goes without the prefix.
    static func folder(_ module: String) -> String {
        rooms[module] == nil ? String(module.replacing(#/^(C?)Hearth/#) { $0.1 }) : module
    }
}
