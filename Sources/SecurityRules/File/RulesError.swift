/// Why a rules file is not one, and where: line and column are counted from 1, columns in characters (docs/rules.md 1).
package struct RulesError: Error, Hashable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int
    package var message: String

    package var description: String { "\(line):\(column): \(message)" }
}

/// A mistake and the byte of the file at which it stands.
struct Mistake: Error {
    var message: String
    var offset: Int

    init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }
}

/// A place in a rules file: line and column, counted from 1, columns in characters.
package struct RulePosition: Hashable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int

    package var description: String { "\(line):\(column)" }

    init(of offset: Int, in file: [UInt8]) {
        (line, column) = (1, 1)
        for byte in file.prefix(offset) {
            if byte == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if byte & 0xC0 != 0x80 {
                column += 1
            }
        }
    }
}
