import Testing

/// The manifest says which room uses which; the imports in the sources must agree with it.
@Suite("Imports") struct ImportTests {
    private static var imports: Regex<(Substring, Substring)> {
        #/^ *(?:@\w+ )*(?:package |public |private |internal )?import (?:\w+ )?(\w+).*$/#
    }
    /// Modules of the toolchain. Foundation is not among them: it would cost start-up time, memory and speed.
    private static let toolchain: Set = ["Glibc", "Musl", "Darwin", "Synchronization", "Observation"]

    @Test(
        "of a room are rooms that it declares, and all that it declares are imported",
        arguments: Manifest.rooms.keys.sorted())
    func declared(room: String) {
        let declared = Manifest.rooms[room] ?? []
        var imported: Set<String> = []
        let files = SourceTree.swiftFiles(in: "Sources/\(room)")
        #expect(!files.isEmpty)
        for file in files {
            for (place, line) in file.numbered {
                guard line.has("import "), let module = line.wholeMatch(of: Self.imports).map({ String($0.1) }) else {
                    continue
                }
                let name = Manifest.folder(module)
                guard !Self.toolchain.contains(name) else { continue }
                imported.insert(name)
                #expect(declared.contains(name), "\(place): the manifest does not say that \(room) uses \(name)")
            }
        }
        #expect(declared.subtracting(imported).isEmpty, "\(room) declares rooms that it does not use")
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
