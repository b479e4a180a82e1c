@preconcurrency import Glibc

/// Prints a line, in which nothing steers the terminal, no matter who wrote it. All that commands print is printed so.
public func say(_ line: Line) { print(line.text) }

/// Prints lines with their numbers, from 1.
public func say(numbered lines: [Line]) {
    for (index, line) in lines.enumerated() { say(Line("\(index + 1)  ") + line) }
}

/// Prints what is wrong where errors go, as ``say(_:)`` does.
public func complain(_ line: Line) { fputs(line.text + "\n", stderr) }

extension Call {
    /// The item whose number a parameter gives, as they were said.
    ///
    /// - parameter what: what items are called.
    public func item<Item>(
        numbered parameter: String = "NUMBER", of items: [Item], _ what: String
    ) throws(Problem) -> Item {
        let wanted = required(parameter)
        guard let number = Int(wanted), number > 0, number <= items.count else {
            throw Problem("there is no \(what) \(wanted)")
        }
        return items[number - 1]
    }

    /// The item of which a parameter gives the name, or the id. A name that several have does not count; small and
    /// capital letters are the same where that is clear.
    ///
    /// - parameter what: what items are called.
    public func item<Item: Identifiable>(
        named parameter: String, of items: [Item], _ what: String, by name: (Item) -> String
    ) throws(Problem) -> Item where Item.ID == String {
        let wanted = required(parameter)
        if let item = items.first(where: { $0.id == wanted }) { return item }
        var found = items.filter { name($0) == wanted }
        if found.isEmpty { found = items.filter { name($0).lowercased() == wanted.lowercased() } }
        guard let item = found.first else { throw Problem("there is no \(what) '\(wanted)'") }
        guard found.count == 1 else {
            let ids = found.map(\.id).joined(separator: ", ")
            throw Problem("there are \(found.count) \(what)s '\(wanted)'; say which one: \(ids)")
        }
        return item
    }
}
