/// Shares out a number of places among keys. A key gets another place as long as it has fewer than are free: one alone
/// has half of them, two a third each, and so on, so there is always a place for another key.
struct Shares<Key: Hashable> {
    private let countMax: Int
    private var counts: [Key: Int] = [:]
    private(set) var total = 0

    init(of countMax: Int) { self.countMax = countMax }

    var isFull: Bool { total >= countMax }

    func mayTake(_ key: Key) -> Bool { counts[key, default: 0] < countMax - total }

    mutating func take(_ key: Key) {
        counts[key, default: 0] += 1
        total += 1
    }

    mutating func give(_ key: Key) {
        let count = counts[key, default: 1] - 1
        counts[key] = count > 0 ? count : nil
        total -= 1
    }
}

/// Things that wait, in a line for each key. Keys take turns.
struct FairQueue<Key: Hashable, Element> {
    private var lines: [Key: [Element]] = [:]
    /// The keys of the lines, in the order of their turns.
    private var keys: [Key] = []

    var isEmpty: Bool { keys.isEmpty }

    mutating func append(_ element: Element, for key: Key) {
        if lines[key] == nil { keys.append(key) }
        lines[key, default: []].append(element)
    }

    /// Takes out all elements that meet a condition.
    mutating func removeAll(where isRemoved: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        for key in keys {
            let line = lines[key] ?? []
            let kept = line.filter { !isRemoved($0) }
            guard kept.count < line.count else { continue }
            removed += line.filter(isRemoved)
            lines[key] = kept.isEmpty ? nil : kept
        }
        keys.removeAll { lines[$0] == nil }
        return removed
    }

    /// Takes the first element of the first key in turn that is admissible.
    mutating func takeFirst(where isAdmissible: (Key) -> Bool) -> (key: Key, element: Element)? {
        guard let place = keys.firstIndex(where: isAdmissible) else { return nil }
        let key = keys.remove(at: place)
        // Invariant: a key is listed exactly while its line has an element.
        let element = lines[key]!.removeFirst()
        if lines[key]!.isEmpty { lines[key] = nil } else { keys.append(key) }
        return (key, element)
    }
}
