import HearthJSONTree
import HearthTreeText
import HearthTreeQueries
import HearthSecurityRules
import HearthStorageErrors

/// Pages of queries with conditions (Protocol.md 18.3).
extension Database {
    /// `{"count":1,"items":{"0":{"key":"a","value":…}},"needs":"…","next":"…"}`, in the order of the query. `needs` is
    /// the index that is missing, and `next` is there if more children follow. A child without any of the requested
    /// fields has no value. `found` is the result of a scan.
    func page(
        of asked: ConditionQuery, _ query: Query, at path: Path, found: QueryScan?, now: Int64
    ) throws(Failure) -> CanonicalJSON {
        rows.store.beginReads()
        defer { rows.store.endReads() }
        let looked = try look(for: query, at: path, found, count: query.limit.map { $0.count + 1 })
        do throws(TreeRows.ReadError) {
            var places = looked.places
            var next: IndexPlace?
            if let limit = query.limit?.count, places.count > limit {
                places.removeLast(places.count - limit)
                next = places.last
            }
            var items: [UInt8] = []
            var count = 0
            for place in places {
                let segment = place.segment
                let bytesLeft = Self.selectedBytesMax - items.count
                var child = ObjectText(bytesMax: bytesLeft)
                try child.append(segment, try rows.read(Path(encoded: path.encoded + segment), bytesMax: bytesLeft))
                let object = withoutExpired(child.finish(), at: path, now: now)
                guard let range = object.range(of: place.path) else { continue }
                items += Array("\(items.isEmpty ? "{" : ",")\"\(count)\":{\"key\":".utf8)
                segment.withUnsafeBytes { Key.appendJSON(encoded: $0, to: &items) }
                let value = query.chosen(of: object.part(range))
                if !value.isNull { items += Array(",\"value\":".utf8) + value.bytes }
                items.append(UInt8(ascii: "}"))
                count += 1
            }
            var page = Array("{\"count\":\(count)".utf8)
            if asked.isExplained {
                page += Array(",\"explain\":".utf8) + looked.explanation
            }
            if count > 0 { page += Array(",\"items\":".utf8) + items + [UInt8(ascii: "}")] }
            if let needs = neededIndex(for: query, at: path, looked) {
                page += Array(",\"needs\":".utf8)
                JSONText.appendQuoted(needs, to: &page)
            }
            if let next { page += Array(",\"next\":\"".utf8) + asked.cursor(after: next) + [UInt8(ascii: "\"")] }
            page.append(UInt8(ascii: "}"))
            return CanonicalJSON(trusted: page)
        } catch .storage(let error) {
            throw .unavailable(error)
        } catch {
            throw .tooLarge
        }
    }

    /// The index that would serve a query with conditions best, as in a settings file. Nil if it has one that is as
    /// good, or if none would.
    func neededIndex(for query: Query, at path: Path) -> [UInt8]? {
        let parts = query.conditions.map(ConditionParts.init)
        guard let orders = query.conditions?.servingOrders,
            let worth = IndexWorth(of: .conditions(ConditionQuery([], orders: orders)), for: query, parts)
        else { return nil }
        let isServed = indexes.trie.indexes(at: path).contains { index in
            index.isComplete && IndexWorth(of: index.definition.index, for: query, parts).map { $0 >= worth } ?? false
        }
        return isServed ? nil : ConditionQuery.text(of: orders)
    }

    /// The same of a query that was answered, if an index would have spared it some looks.
    private func neededIndex(for query: Query, at path: Path, _ looked: Looked) -> [UInt8]? {
        let found = looked.places.count
        return looked.examined <= found + found / 4 ? nil : neededIndex(for: query, at: path)
    }

    /// What a query was answered from.
    struct Looked {
        let places: [IndexPlace]
        /// How many entries of indexes, or children, were looked at.
        let examined: Int
        /// Nil if children were, in the order of their keys.
        let index: QueryIndex?

        /// For people.
        var explanation: [UInt8] {
            var text = Array("{\"examined\":\(examined)".utf8)
            if let index {
                text += Array(",\"index\":".utf8)
                JSONText.appendQuoted(Array(index.description.utf8), to: &text)
            }
            return text + [UInt8(ascii: "}")]
        }
    }

    /// The first places that a query with conditions selects. `found` is what a scan has found.
    func look(for query: Query, at path: Path, _ found: QueryScan?, count: Int?) throws(Failure) -> Looked {
        if let found, let known = found.next(count: count) {
            return Looked(places: known, examined: found.visitedCount, index: found.index)
        }
        do throws(StorageError) {
            if let plan = indexes.plan(for: query, at: path), plan.isExact {
                let read = try indexes.places(plan, at: path, in: query.interval(beyond: nil), .ascending, count: count)
                return Looked(places: read.places, examined: read.entryCount, index: plan.index.definition.index)
            }
            if !query.isInKeyOrder {
                let scan = try finishedScan(query, at: path)
                if let known = scan.next(count: count) {
                    return Looked(places: known, examined: scan.visitedCount, index: scan.index)
                }
            }
            let places = try places(of: query, at: path, count: count)
            return Looked(places: places, examined: places.count, index: query.isInKeyOrder ? .key : nil)
        } catch {
            throw .unavailable(error)
        }
    }

    /// What a scan finds, at once.
    func finishedScan(_ query: Query, at path: Path) throws(StorageError) -> QueryScan {
        var scan = QueryScan(query, isPage: true)
        while !scan.isDone { try scan.step(rows, path, indexes, childrenMax: Self.selectedAtOnce) }
        return scan
    }

    private static var selectedAtOnce: Int { 256 }
}
