import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthTestSupport

@testable import HearthTreeStorage
import HearthStorageErrors

/// What the histories of a database must tell, from its states after each operation.
struct HistoryModel {
    /// After each operation, from none.
    var trees: [CanonicalJSON]
    /// When each operation was made; for none 0.
    var times: [Int64]
    /// Where something was erased, and after which operation.
    var erased: [(path: Path, sequence: UInt64)] = []

    /// What of a value lies at places of patterns.
    static func kept(_ tree: CanonicalJSON, _ patterns: [IndexPattern]) -> CanonicalJSON {
        var result = CanonicalJSON.null
        for pattern in patterns {
            var places = [Path.root]
            for segment in pattern.segments {
                places = places.flatMap { place -> [Path] in
                    if let segment { return [Path(encoded: place.encoded + segment)] }
                    return tree.value(at: place).children.map { place.appending($0.key) }
                }
            }
            for place in places { result = result.setting(tree.value(at: place), at: place) }
        }
        return result
    }

    /// Compares a read with this model; answers what is wrong.
    func problem(_ file: HistoryFile, at path: Path, after sequence: UInt64) -> String? {
        let concerned = file.places.filter { $0.kept.concerns(path) }
        let edge = (concerned.map(\.edge) + erased.filter { $0.path.contains(path) }.map(\.sequence)).max()
        do throws(HistoryError) {
            let found = try file.sequence(at: .sequence(sequence), of: path)
            guard let edge, edge <= sequence else { return "\(path) at \(sequence) is told from before the edge" }
            return problem(try file.value(at: path, after: found), file, at: path, after: sequence)
        } catch {
            switch error {
            case .notKept where concerned.isEmpty: return nil
            case .tooOld where edge.map { sequence < $0 } ?? false: return nil
            default: return "\(path) at \(sequence): \(error)"
            }
        }
    }

    private func problem(
        _ value: CanonicalJSON, _ file: HistoryFile, at path: Path, after sequence: UInt64
    ) -> String? {
        // What nodes above had besides: after it alone, they may have gone, and priorities with them.
        let unknown = erased.filter { $0.sequence > sequence }.compactMap { $0.path.suffix(after: path) }
        if !unknown.isEmpty {
            let told = unknown.first { value.hasValue(at: $0) }
            return told.map { "\(path) at \(sequence) is \(value), with \($0), which was erased" }
        }
        let patterns = file.places.map(\.kept).filter { $0.concerns(path) }.map(\.pattern)
        let expected = Self.kept(trees[Int(min(sequence, file.sequence))], patterns).value(at: path)
        return value == expected ? nil : "\(path) at \(sequence) is \(value), not \(expected)"
    }

    /// The same by time.
    func problem(_ file: HistoryFile, at path: Path, time: Int64) -> String? {
        let last = times.prefix(Int(file.sequence) + 1).lastIndex { $0 <= time } ?? 0
        do throws(HistoryError) {
            let found = try file.sequence(at: .time(time), of: path)
            return problem(try file.value(at: path, after: found), file, at: path, after: UInt64(last))
                .map { "\($0), by the time \(time)" }
        } catch {
            switch error {
            case .notKept, .tooOld: return problem(file, at: path, after: UInt64(last))
            default: return "\(path) at \(time) ms: \(error)"
            }
        }
    }
}

/// Random settings, places and moments of a history.
struct HistoryChoices {
    var random: SeededRandom

    private static let sets: [[String]] = [
        ["a"], ["b/$"], ["a", "b/$"], [""], ["$/c"], ["a/b", "b", "c/$/a"], ["$"],
    ]

    mutating func definitions() -> [HistoryDefinition] {
        let patterns = Self.sets[Int.random(in: 0..<Self.sets.count, using: &random)]
        return patterns.compactMap { text in
            let keep: Int64? = Bool.random(using: &random) ? nil : Int64.random(in: 5...60, using: &random)
            return IndexPattern(text: text).map { HistoryDefinition(pattern: $0, keep: keep) }
        }
    }

    mutating func path() -> Path {
        let keys = ["a", "b", "c", "0", "17", "é"]
        let depth = [0, 1, 1, 2, 2, 3, 4][Int.random(in: 0..<7, using: &random)]
        return (0..<depth).reduce(Path.root) { path, _ in
            let key = keys[Int.random(in: 0..<keys.count, using: &random)]
            return path.appending((try? Key(validating: key)) ?? Key(0))
        }
    }

    /// Compares so many reads with a model; answers what is wrong.
    mutating func problems(of file: HistoryFile, _ model: HistoryModel, cases: Int) -> [String] {
        (0..<cases).compactMap { _ in
            let path = path()
            if Int.random(in: 0..<4, using: &random) == 0 {
                return model.problem(
                    file, at: path, time: Int64.random(in: 0...(model.times.last ?? 0) + 5, using: &random))
            }
            let sequence = UInt64.random(in: 0...file.sequence + 2, using: &random)
            return model.problem(file, at: path, after: sequence) ?? Self.problem(ofCopyBy: file, at: path, sequence)
        }
    }

    /// What a copy has that is made for a value too large for memory, if it is not the value.
    private static func problem(ofCopyBy file: HistoryFile, at path: Path, _ sequence: UInt64) -> String? {
        do throws(HistoryError) {
            let found = try file.sequence(at: .sequence(sequence), of: path)
            let expected = try file.value(at: path, after: found)
            guard case .whole(let value) = try file.copy(of: path, after: found).make() else {
                return "\(path) at \(found) is not returned as a whole"
            }
            return value == expected ? nil : "the copy of \(path) at \(found) is \(value), not \(expected)"
        } catch {
            switch error {
            case .notKept, .tooOld: return nil
            default: return "the copy of \(path) at \(sequence): \(error)"
            }
        }
    }
}
