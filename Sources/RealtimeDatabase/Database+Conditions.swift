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
                page += Array(",\"explain\":".utf8) + explanation(of: query, at: path, examined: looked.examined)
            }
            if count > 0 { page += Array(",\"items\":".utf8) + items + [UInt8(ascii: "}")] }
            if let needs = neededIndex(for: query, at: path) {
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
        guard let orders = query.conditions?.servingOrders else { return nil }
        let index = QueryIndex.conditions(ConditionQuery([], orders: orders))
        guard IndexRanges(of: query, in: index) != nil else { return nil }
        if let plan = indexes.plan(for: query, at: path) {
            if plan.isExact || plan.valueCount >= orders.count { return nil }
        }
        return ConditionQuery.text(of: orders)
    }

    /// The index that serves a query, and how many of its entries, or children, were looked at.
    func explanation(of query: Query, at path: Path, examined: Int) -> [UInt8] {
        let index = query.isInKeyOrder ? .key : indexes.plan(for: query, at: path)?.index.definition.index
        var text = Array("{\"examined\":\(examined)".utf8)
        if let index {
            text += Array(",\"index\":".utf8)
            JSONText.appendQuoted(Array(index.description.utf8), to: &text)
        }
        return text + [UInt8(ascii: "}")]
    }

    /// The first places that a query selects, and how many entries of an index, or children, were looked at for that.
    func look(
        for query: Query, at path: Path, _ found: QueryScan?, count: Int?
    ) throws(Failure) -> (places: [IndexPlace], examined: Int) {
        if let found, let known = found.next(count: count) { return (known, found.visitedCount) }
        do throws(StorageError) {
            if let plan = indexes.plan(for: query, at: path), plan.isExact {
                let read = try indexes.places(plan, at: path, in: query.interval(beyond: nil), .ascending, count: count)
                return (read.places, read.entryCount)
            }
            let places = try places(of: query, at: path, count: count)
            return (places, places.count)
        } catch {
            throw .unavailable(error)
        }
    }
}
