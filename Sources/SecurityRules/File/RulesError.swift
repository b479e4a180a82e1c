/// Why a rules file is not one, and where: line and column are counted from 1, columns in characters (docs/rules.md 1).
package struct RulesError: Error, Hashable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int
    package var message: String

    package var description: String { "\(line):\(column): \(message)" }
}

extension RulesError {
    package init(_ mistake: Mistake, in file: [UInt8]) {
        let position = RulePosition(of: mistake.offset, in: file)
        self.init(line: position.line, column: position.column, message: mistake.message)
    }
}

/// A mistake and its byte offset in the file.
package struct Mistake: Error {
    package var message: String
    package var offset: Int

    package init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }
}

/// A place in a rules file: line and column, counted from 1, columns in characters.
package struct RulePosition: Hashable, Sendable, CustomStringConvertible {
    package var line: Int
    package var column: Int

    package var description: String { "\(line):\(column)" }

    package init(of offset: Int, in file: [UInt8]) {
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

extension Mistake {
    /// A name that means nothing, and the one that was perhaps meant.
    package static func unknown(_ kind: String, _ name: String, known: [String], at offset: Int) -> Mistake {
        let near = known.min { Spelling.distance($0, name) < Spelling.distance($1, name) }
        guard let near, Spelling.distance(near, name) <= 3 else {
            return Mistake("Unknown \(kind) '\(name)': there are \(known.joined(separator: ", ")).", at: offset)
        }
        return Mistake("Unknown \(kind) '\(name)': did you mean '\(near)'?", at: offset)
    }
}
