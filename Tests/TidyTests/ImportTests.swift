import Testing

/// The manifest says which room uses which; the imports in the sources must agree with it.
@Suite("Imports") struct ImportTests {
    private static var imports: Regex<(Substring, Substring)> {
        #/^ *(?:@\w+ )*(?:package |public |private |internal )?import (?:\w+ )?(\w+).*$/#
    }
    /// Modules of the toolchain. Foundation is not among them: it would cost start-up time, memory and speed.
    private static let toolchain: Set = ["Glibc", "Musl", "Darwin", "Synchronization", "Observation"]
    /// Those that tests may use as well.
    private static let testing: Set = ["Testing", "FoundationEssentials"]

    @Test(
        "of a room are rooms that it declares, and all that it declares are imported",
        arguments: Manifest.rooms.keys.sorted())
    func declared(room: String) {
        let declared = Manifest.rooms[room] ?? []
        let files = SourceTree.swiftFiles(in: "Sources/\(room)")
        #expect(!files.isEmpty)
        let imported = Self.check(files, of: room, against: declared)
        #expect(declared.subtracting(imported).isEmpty, "\(room) declares rooms that it does not use")
    }

    /// A build that finds a module of an earlier build does not notice that it is not declared; a first build does.
    @Test("of tests are modules that the manifest gives them")
    func tests() {
        let files = SourceTree.swiftFiles(in: "Tests")
        let folders = Dictionary(grouping: files) { String($0.path.split(separator: "/")[1]) }
        #expect(folders.count > 20)
        for (folder, files) in folders where folder != "Outside" {
            Self.check(files, of: folder, against: (Manifest.tests[folder] ?? []).union(Self.testing))
        }
    }

    /// - returns: the imported modules, without those of the toolchain.
    @discardableResult
    private static func check(_ files: [SourceTree.File], of room: String, against declared: Set<String>) -> Set<String>
    {
        var imported: Set<String> = []
        for file in files {
            for (place, line) in file.numbered {
                guard line.has("import "), let module = line.wholeMatch(of: imports).map({ String($0.1) }) else {
                    continue
                }
                let name = Manifest.folder(module)
                guard !toolchain.contains(name) else { continue }
                imported.insert(name)
                #expect(declared.contains(name), "\(place): the manifest does not say that \(room) uses \(name)")
            }
        }
        return imported
    }

    @Test("bring in nothing more than they name, and never Foundation")
    func names() {
        #expect(!Manifest.rooms.isEmpty)
        for file in SourceTree.swiftFiles(in: "Sources", "Examples", "Tests") {
            for (place, line) in file.numbered where line.has("import ") && line.contains(Self.imports) {
                #expect(!line.has("@_exported"), "\(place)")
                #expect(!line.contains(#/import (Foundation|Dispatch)\b/#), "\(place)")
            }
        }
    }
}
