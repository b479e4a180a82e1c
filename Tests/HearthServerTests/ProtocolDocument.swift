import HearthSystem
import Testing

@testable import HearthServer

/// `Protocol.md` and the documents in `docs/protocol`, divided into the parts that tests check.
struct ProtocolDocument {
    /// A fenced block.
    struct Block: Sendable, CustomTestStringConvertible {
        /// The text after the opening fence.
        var kind: String
        var document: String
        /// The number of its first line in the document, counted from 1.
        var start: Int
        var lines: [String]

        var testDescription: String { "\(kind) at \(place(0))" }

        /// Names a line of the block, counted from 0, in a failed test.
        func place(_ index: Int) -> String { "\(document):\(start + index)" }

        /// Lines `left → right`.
        var pairs: [(place: String, left: String, right: String)] {
            lines.enumerated().map { index, line in
                guard let arrow = line.firstRange(of: " →") else { return (place(index), line, "") }
                let right = line[arrow.upperBound...]
                return (place(index), String(line[..<arrow.lowerBound]), String(right.drop { $0 == " " }))
            }
        }
    }

    /// The lines of `Protocol.md`.
    let lines: [String]
    let blocks: [Block]

    /// Empty if the files cannot be read, which a test notices.
    static let shared = ProtocolDocument()

    private init(thisFile: String = #filePath) {
        let root = thisFile.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let names = ["rest", "long-polling", "accounts", "administration"].map { "docs/protocol/\($0).md" }
        var texts = (["Protocol.md"] + names).map { name in
            let text = String(decoding: FileBytes.read("\(root)/\(name)") ?? [], as: UTF8.self)
            return (name, text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
        }
        blocks = texts.flatMap(Self.blocks)
        lines = texts.removeFirst().1
    }

    private static func blocks(of document: String, lines: [String]) -> [Block] {
        var blocks: [Block] = []
        var open: Block?
        for (index, line) in lines.enumerated() {
            guard line.hasPrefix("```") else {
                open?.lines.append(line)
                continue
            }
            if let block = open {
                blocks.append(block)
                open = nil
            } else {
                open = Block(kind: String(line.dropFirst(3)), document: document, start: index + 2, lines: [])
            }
        }
        return blocks
    }

    func blocks(_ kind: String) -> [Block] { blocks.filter { $0.kind == kind } }
}
