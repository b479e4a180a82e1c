/// First in, first out, and back to the front.
@usableFromInline package struct Queue<Element> {
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var start = 0

    @inlinable
    package init() {}

    @inlinable
    package var isEmpty: Bool { start == elements.count }
    @inlinable
    package var count: Int { elements.count - start }
    @inlinable
    package var first: Element? {
        get { isEmpty ? nil : elements[start] }
        set {
            precondition(!isEmpty && newValue != nil, "the first element is replaced by another one")
            elements[start] = newValue
        }
    }

    @inlinable
    package mutating func append(_ element: Element) { elements.append(element) }

    @inlinable
    package mutating func prepend(_ element: Element) {
        if start == 0 {
            // As much room as there are elements, so that the rest is seldom moved.
            let room = max(4, elements.count)
            elements.insert(contentsOf: repeatElement(nil, count: room), at: 0)
            start = room
        }
        start -= 1
        elements[start] = element
    }

    @inlinable
    package mutating func takeFirst() -> Element? {
        guard !isEmpty else { return nil }
        var element: Element?
        swap(&element, &elements[start])
        start += 1
        // Half of it at a time, for the same reason.
        if start * 2 >= elements.count {
            elements.removeFirst(start)
            start = 0
        }
        return element
    }

    /// Calls `body` with each element, in order.
    @inlinable
    package mutating func update(_ body: (inout Element) -> Void) {
        for index in start..<elements.count {
            guard var element = elements[index] else { continue }
            body(&element)
            elements[index] = element
        }
    }

    /// O(n).
    @inlinable
    package func contains(where isWanted: (Element) -> Bool) -> Bool {
        elements[start...].contains { element in element.map(isWanted) ?? false }
    }

    @inlinable
    package mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        elements = elements[start...].filter { element in element.map { !isUnwanted($0) } ?? false }
        start = 0
    }

    /// Takes an element out, wherever it is; false if it is not here. O(n).
    @inlinable
    package mutating func remove(_ element: Element) -> Bool where Element: Equatable {
        guard let index = elements[start...].firstIndex(where: { $0 == element }) else { return false }
        elements.remove(at: index)
        return true
    }
}
