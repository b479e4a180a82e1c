import HearthTestSupport
import Testing

/// The article about porting goes name by name; these tests look for each name in the sources.
@Suite("The names of Firebase's Apple SDK")
struct PortingTests {
    private static let project = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()

    private static func text(_ path: String) -> String {
        String(decoding: TemporaryFolder.contents(of: "\(project)/Sources/HearthClient/\(path)"), as: UTF8.self)
    }

    /// A row of a table: the names in its first column, and its second column.
    private struct Row {
        let names: [String]
        let answer: Substring
    }

    private static let rows: [Row] = text("Documentation.docc/Porting.md").split(separator: "\n").compactMap { line in
        guard line.hasPrefix("| `") else { return nil }
        let columns = line.split(separator: " | ", maxSplits: 1)
        guard columns.count == 2 else { return nil }
        return Row(names: columns[0].matches(of: #/`([^`]+)`/#).map { String($0.1) }, answer: columns[1])
    }

    /// A public declaration: a function's name with its labels, those with a default value marked, or a variable's name.
    private struct Declaration {
        let name: Substring
        /// Nil if it is not a function.
        var parameters: [(label: Substring, isOptional: Bool)]?

        /// Whether a call with these labels calls it.
        func takes(_ labels: [Substring]) -> Bool {
            guard let parameters else { return false }
            var labels = labels[...]
            for parameter in parameters {
                if labels.first == parameter.label {
                    labels = labels.dropFirst()
                } else if !parameter.isOptional {
                    return false
                }
            }
            return labels.isEmpty
        }
    }

    private static let declarations: [Declaration] = {
        let folders = ["Public", "Auth"]
        let files = folders.flatMap { folder in
            TemporaryFolder.files(in: "\(project)/Sources/HearthClient/\(folder)").map { "\(folder)/\($0)" }
        }
        return files.flatMap { declarations(in: text($0)) }
    }()

    private static func declarations(in source: String) -> [Declaration] {
        let variables = source.matches(of: #/public (?:private\(set\) )?(?:static )?(?:var|let) (\w+)/#).map {
            Declaration(name: $0.1)
        }
        let functions = source.matches(of: #/public (?:static |mutating )*func (\w+)(?:<[^(]*>)?\(/#).map { match in
            Declaration(name: match.1, parameters: parameters(source[match.range.upperBound...]))
        }
        return variables + functions
    }

    /// The parameters up to the closing parenthesis.
    private static func parameters(_ text: Substring) -> [(label: Substring, isOptional: Bool)] {
        var depth = 0
        var pieces: [Substring] = []
        var start = text.startIndex
        scan: for index in text.indices {
            switch text[index] {
            case "(", "[": depth += 1
            case ")" where depth == 0:
                pieces.append(text[start..<index])
                break scan
            case ")", "]": depth -= 1
            case "," where depth == 0:
                pieces.append(text[start..<index])
                start = text.index(after: index)
            default: break
            }
        }
        return pieces.compactMap { piece in
            guard let label = piece.split(whereSeparator: { " :\n".contains($0) }).first else { return nil }
            return (label, piece.contains(" = "))
        }
    }

    /// Whether a name such as `DataSnapshot.hasChild(_:)` is declared.
    private static func isDeclared(_ name: String) -> Bool {
        let member = name.split(separator: ".", maxSplits: 1).last ?? ""
        guard let parenthesis = member.firstIndex(of: "(") else {
            return declarations.contains { $0.name == member && $0.parameters == nil }
        }
        let labels = member[parenthesis...].dropFirst().dropLast().split(separator: ":")
        return declarations.contains { $0.name == member[..<parenthesis] && $0.takes(labels) }
    }

    @Test("that are said to be the same are there, with their labels")
    func same() {
        let names = Self.rows.filter { $0.answer.hasPrefix("the same") }.flatMap(\.names)
        #expect(names.count > 100)
        for name in names { #expect(Self.isDeclared(name), "\(name)") }
    }

    @Test("that are said to be missing are not there")
    func missing() {
        let names = Self.rows.filter { $0.answer.hasPrefix("missing") }.flatMap(\.names)
        #expect(names.count > 5)
        for name in names { #expect(!Self.isDeclared(name), "\(name)") }
    }

    @Test("are looked for strictly")
    func strict() {
        #expect(Self.isDeclared("DatabaseQuery.observe(_:with:)"))
        #expect(!Self.isDeclared("DatabaseQuery.observe(_:by:)"))
        #expect(!Self.isDeclared("DatabaseQuery.observe(with:)"))
        #expect(!Self.isDeclared("DatabaseQuery.getData"))
        #expect(!Self.isDeclared("DataSnapshot.key()"))
    }
}
