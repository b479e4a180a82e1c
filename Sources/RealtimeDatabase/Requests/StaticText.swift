/// A word of the program text that can be compared.
package struct StaticText: Hashable, Sendable {
    package let text: StaticString

    package init(_ text: StaticString) { self.text = text }

    package static func == (a: StaticText, b: StaticText) -> Bool { a.text.description == b.text.description }

    package func hash(into hasher: inout Hasher) { hasher.combine(text.description) }
}
