import Testing

/// Examples are programs of somebody else: they have the products, and modules of their own.
@Suite("The sources of the examples") struct ExampleSourceTests {
    private static let products: Set = [
        "HearthClient", "HearthClientTransport", "HearthAdmin", "HearthHTTP", "HearthSealing",
    ]
    private static let own: Set = ["HearthExampleKit", "HearthExampleTerminal"]

    @Test("import products alone, and what they have in common")
    func imports() {
        let files = SourceTree.swiftFiles(in: "Examples")
        #expect(files.count > 40)
        for file in files {
            for (place, line) in file.numbered where line.has("import ") && line.has("Hearth") {
                guard let module = line.firstMatch(of: #/^(?:\S+ )*import (C?Hearth\w+)/#).map({ String($0.1) }) else {
                    continue
                }
                #expect(Self.products.contains(module) || Self.own.contains(module), "\(place)")
            }
        }
    }

    /// The command line and signing in; and the screens, with their keys, lists and forms.
    @Test(
        "have little in common: what is worth more belongs into the library",
        arguments: [("ExampleKit", 370), ("ExampleTerminal", 940)])
    func size(folder: String, linesMax: Int) {
        let lines = SourceTree.swiftFiles(in: "Examples/\(folder)").reduce(0) { $0 + $1.lines.count - 1 }
        #expect((1...linesMax).contains(lines), "\(lines) lines")
    }
}
