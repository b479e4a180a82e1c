import Glibc
import HearthSQLite
import HearthStorageErrors

extension ArchiveFolder {
    /// A segment as far as a restore takes it: up to a row.
    struct Part {
        let segment: Segment
        var end: Int64 = .max
        /// Whether it is of a later chain than the copy.
        var isOfLater = false
    }

    /// What a restore takes: the copy of a chain, and parts that follow it.
    struct Selection {
        let chain: Chain
        let parts: [Part]
        /// Commits that may be missing at the end of it.
        var missing: Missing?
        /// Whether the archive has nothing of after the moment.
        var isAtEnd = false

        /// Whether its files still have their names.
        var isThere: Bool { ([chain.base] + parts.map(\.segment.path)).allSatisfy { access($0, F_OK) == 0 } }
    }

    /// Segments, in their order, of the chains with these indices.
    private struct Line {
        var parts: [Part]
        var chains: [Int]
    }

    /// The chains of an archive at some time, the oldest first, and the segments of each.
    struct Listing: Equatable {
        let chains: [Chain]
        let segments: [[Segment]]

        /// - parameter hasRemains: with chains that have no copies, which are being removed, or have lost them.
        init(_ folder: ArchiveFolder, hasRemains: Bool = false) {
            chains = folder.chains.filter { hasRemains || access($0.base, F_OK) == 0 }
            segments = chains.map(\.segments)
        }

        /// The commits after the copy of a chain and up to a moment. They may be in chains of later copies, if the
        /// clock was ahead when those were made: then some of these have a later time than all of the chain itself.
        func selection(from index: Int, through time: Int64?) throws(StorageError) -> Selection {
            let own = Line(parts: segments[index].map { Part(segment: $0) }, chains: [index])
            guard let time else { return Selection(chain: chains[index], parts: own.parts) }
            let base = try ArchiveSegment.lastTime(of: chains[index].base) ?? 0
            let first = (time: min(base, chains[index].time), first: 0 as Int64)
            var line = own
            var best = try end(of: own.parts, by: time, after: first)
            for other in lines(own, after: index) {
                let next = try end(of: other.parts, by: time, after: first)
                if next.last.time > best.last.time { (line, best) = (other, next) }
            }
            var selection = Selection(chain: chains[index], parts: best.parts)
            guard !best.isPast, best.last.time < time else { return selection }
            let later = chains.indices.dropFirst(index + 1).first { !line.chains.contains($0) }
            selection.isAtEnd = later == nil
            if let later, !continues(line, in: later) {
                let begin = best.last.time > 0 ? best.last.time : chains[index].time
                selection.missing = Missing(after: begin, before: chains[later].time)
            }
            return selection
        }

        /// Whether a later chain has all commits that follow the end of an earlier one.
        func continues(_ chain: Int, in later: Int) -> Bool {
            continues(Line(parts: segments[chain].map { Part(segment: $0) }, chains: [chain]), in: later)
        }

        /// Its copy ends where the line does, or the chain has the row with which the line ends. Where it goes on from
        /// an earlier row, as after a restore of an older backup, it has not.
        private func continues(_ line: Line, in later: Int) -> Bool {
            guard let last = line.chains.last else { return false }
            do throws(StorageError) {
                let mayBeErased = try chains[last].erasure() != chains[later].erasure()
                let copy = try LogEnd(of: Connection(path: chains[later].base, mode: .readOnly))
                let path = line.parts.last?.segment.path ?? chains[last].base
                guard let end = try LogEnd(of: Connection(path: path, mode: .readOnly)) else { return copy == nil }
                if copy?.isSame(as: end, mayBeErased: mayBeErased) == true { return true }
                for segment in segments[later] where segment.first <= end.last && end.last <= segment.last {
                    let connection = try Connection(path: segment.path, mode: .readOnly)
                    if try ArchiveSegment.has(end, in: connection, mayBeErased: mayBeErased) { return true }
                }
            } catch {
                // What cannot be read continues nothing.
            }
            return false
        }

        /// The parts of segments up to the row that has the latest time up to a moment, that row, and whether there
        /// are rows of after the moment.
        private func end(
            of line: [Part], by time: Int64, after first: (time: Int64, first: Int64)
        ) throws(StorageError) -> (parts: [Part], last: (time: Int64, first: Int64), isPast: Bool) {
            var (parts, last) = (line, first)
            var isPast = false
            for (number, part) in line.enumerated() {
                do throws(StorageError) {
                    let path = part.segment.path
                    if let row = try ArchiveSegment.lastRow(of: path, by: time, through: part.end), row >= last {
                        last = row
                    }
                    if try ArchiveSegment.lastTime(of: path) ?? 0 > time { isPast = true }
                } catch {
                    // What comes before it is what there was at the moment, unless the clock was wrong: damage to the
                    // rest of an archive must not keep this from being restored.
                    guard isPast || part.isOfLater else { throw error }
                    parts.removeSubrange(number...)
                    break
                }
            }
            parts.removeAll { $0.segment.first > last.first }
            for index in parts.indices { parts[index].end = min(parts[index].end, last.first) }
            return (parts, last, isPast)
        }

        /// The segments of a chain with those of later chains that go on with its log: with the first of these, with
        /// the first two, and so on. Where one goes on from a row in the middle, as after a restore of that moment, the
        /// rows after it were given up.
        private func lines(_ own: Line, after index: Int) -> [Line] {
            var lines: [Line] = []
            var line = own
            var base = own.parts.isEmpty ? chains[index].base : nil
            var later = Array((index + 1)..<chains.count)
            while let (place, end) = next(later, after: base, line.parts) {
                let index = later.remove(at: place)
                base = segments[index].isEmpty ? chains[index].base : nil
                line.parts.removeAll { $0.segment.first > end.last }
                for index in line.parts.indices { line.parts[index].end = min(line.parts[index].end, end.first) }
                line.parts += segments[index].map { Part(segment: $0, isOfLater: true) }
                line.chains.append(index)
                lines.append(line)
            }
            return lines
        }

        /// The first chain whose copy ends at a row of some segments, or where another copy does that has none: if it
        /// has some, the chain may be the one that was given up. What cannot be read has no such row.
        private func next(
            _ later: [Int], after base: String?, _ parts: [Part]
        ) -> (place: Int, end: LogEnd)? {
            func end(of path: String) -> LogEnd? {
                try? LogEnd(of: Connection(path: path, mode: .readOnly))
            }
            for (place, index) in later.enumerated() {
                guard let found = end(of: chains[index].base) else { continue }
                if let base, end(of: base) == found { return (place, found) }
                for part in parts
                where part.segment.first <= found.last && found.last <= part.segment.last && found.first <= part.end {
                    let path = part.segment.path
                    let has = try? ArchiveSegment.has(found, in: Connection(path: path, mode: .readOnly))
                    if has == true { return (place, found) }
                }
            }
            return nil
        }
    }
}
