extension RulesProgram {
    /// The file as plain JSON: without comments and trailing commas, and with line breaks in strings escaped
    /// (docs/rules.md 1).
    package var strictFile: [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(file.count)
        var index = 0
        while index < file.count {
            let byte = file[index]
            switch byte {
            case UInt8(ascii: "\""): index = Self.copyString(in: file, at: index, to: &out)
            case UInt8(ascii: "/"): index = Self.endOfComment(in: file, at: index)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // White space is never copied, so a trailing comma is the last copied byte.
                if out.last == UInt8(ascii: ",") { out.removeLast() }
                out.append(byte)
                index += 1
            default:
                if byte > 0x20 { out.append(byte) }
                index += 1
            }
        }
        return out
    }

    /// Answers the position after the string.
    private static func copyString(in file: [UInt8], at start: Int, to out: inout [UInt8]) -> Int {
        out.append(file[start])
        var index = start + 1
        while index < file.count {
            let byte = file[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\n"): out += "\\n".utf8
            case UInt8(ascii: "\r"): out += "\\r".utf8
            case UInt8(ascii: "\t"): out += "\\t".utf8
            case UInt8(ascii: "\\") where index < file.count:
                out += [byte, file[index]]
                index += 1
            default:
                out.append(byte)
                if byte == UInt8(ascii: "\"") { return index }
            }
        }
        return index
    }

    private static func endOfComment(in file: [UInt8], at start: Int) -> Int {
        let isBlock = start + 1 < file.count && file[start + 1] == UInt8(ascii: "*")
        var index = start + 2
        while index < file.count {
            if isBlock, file[index] == UInt8(ascii: "/"), file[index - 1] == UInt8(ascii: "*"), index > start + 2 {
                return index + 1
            }
            if !isBlock, file[index] == UInt8(ascii: "\n") { return index }
            index += 1
        }
        return index
    }
}
