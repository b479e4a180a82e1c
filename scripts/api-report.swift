// Prints the public API in symbol graphs: for each name its declarations, one per line, sorted.
// Usage: api-report GRAPH.symbols.json...
import Foundation

struct Graph: Decodable {
    var symbols: [Symbol]
}

struct Symbol: Decodable {
    struct Identifier: Decodable {
        var precise: String
    }

    struct Fragment: Decodable {
        var spelling: String
    }

    var identifier: Identifier
    var pathComponents: [String]
    var declarationFragments: [Fragment]?

    /// Nil for what a conformance brings along, which no source declares.
    var line: String? {
        guard !identifier.precise.contains("::SYNTHESIZED::"), let declarationFragments else { return nil }
        let declaration = declarationFragments.map(\.spelling).joined()
        let words = declaration.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return "\(pathComponents.joined(separator: ".")): \(words)"
    }
}

var lines: Set<String> = []
for file in CommandLine.arguments.dropFirst() {
    let data = try Data(contentsOf: URL(fileURLWithPath: file))
    lines.formUnion(try JSONDecoder().decode(Graph.self, from: data).symbols.compactMap(\.line))
}
for line in lines.sorted() { print(line) }
