/// What the manifest says of the modules.
enum Manifest {
    /// The rooms of the manifest, with the names of the rooms that they use.
    static let rooms: [String: Set<String>] = {
        let text = SourceTree.file("Package.swift")?.lines.joined(separator: " ") ?? ""
        var rooms: [String: Set<String>] = [:]
        let room = #/Room\(\s*name: "(\w+)"(?:,\s*uses: \[([^\]]*)\])?/#
        for match in text.matches(of: room) {
            rooms[String(match.1)] = Set((match.2 ?? "").matches(of: #/"(\w+)"/#).map { String($0.1) })
        }
        return rooms
    }()

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
        let short = String(module.replacing(#/^(C?)Hearth/#) { $0.1 })
        return rooms[module] == nil && module.hasPrefix("CHearth") || rooms[short] != nil ? short : module
    }
}
