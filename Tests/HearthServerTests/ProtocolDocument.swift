import Testing

@testable import HearthServer

/// `Protocol.md` at the root of the repository, taken apart into what can be checked.
struct ProtocolDocument {
    /// A fenced block.
    struct Block: Sendable, CustomTestStringConvertible {
        /// What stands behind the opening fence.
        var kind: String
        /// The number of its first line in the document, counted from 1.
        var start: Int
        var lines: [String]

        var testDescription: String { "\(kind) at Protocol.md:\(start)" }

        /// Lines `left → right`.
        var pairs: [(line: Int, left: String, right: String)] {
            lines.enumerated().map { index, line in
                guard let arrow = line.firstRange(of: " →") else { return (start + index, line, "") }
                let right = line[arrow.upperBound...]
                return (start + index, String(line[..<arrow.lowerBound]), String(right.drop { $0 == " " }))
            }
        }
    }

    let lines: [String]
    let blocks: [Block]

    /// Empty if the file cannot be read, which a test notices.
    static let shared = ProtocolDocument()

    private init(thisFile: String = #filePath) {
        let root = thisFile.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        let bytes = FileBytes.read(root + "/Protocol.md") ?? []
        lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
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
                open = Block(kind: String(line.dropFirst(3)), start: index + 2, lines: [])
            }
        }
        self.blocks = blocks
    }

    func blocks(_ kind: String) -> [Block] { blocks.filter { $0.kind == kind } }
}
