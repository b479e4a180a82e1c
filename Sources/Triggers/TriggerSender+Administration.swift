import HearthJSONTree
package import HearthJSONValues
import HearthRealtimeDatabase
package import HearthSecurityRules
import HearthStorageErrors
import HearthSystem
import HearthTreeStorage

/// Administrators' questions about events (administration.md 2).
extension TriggerSender {
    package enum Wish: String, Sendable {
        case list, replay, drop
    }

    package struct Refusal: Error, Sendable {
        package let text: String

        fileprivate static func unknown(_ name: String?) -> Refusal {
            Refusal(text: "there is no trigger '\(name ?? "")'")
        }
    }

    /// Events in one answer, or that one request sends again or drops.
    private static let pageMax = 1000
    /// The same in bytes, about: events that are sent again become part of one record of the log.
    private static let pageBytesMax = 16 << 20

    /// - parameter trigger: nil for all triggers, where they are listed.
    /// - parameter id: of one event.
    /// - parameter then: called on any thread.
    package func administer(
        _ database: UInt32, _ wish: Wish, trigger: String?, id: String?, limit: Int,
        then: @escaping @Sendable (Result<JSONObject, Refusal>) -> Void
    ) {
        let isAsked = execute { sender in
            let answer: Result<JSONObject, Refusal>? = sender.with(database) { triggers in
                do throws(StorageError) {
                    switch wish {
                    case .list:
                        return .success(try Self.list(&triggers, trigger, limit: min(max(limit, 0), Self.pageMax)))
                    case .replay, .drop:
                        guard let (news, answer) = try Self.changes(&triggers, wish, trigger, id) else {
                            return .failure(.unknown(trigger))
                        }
                        sender.tell(database, news)
                        return .success(answer)
                    }
                } catch {
                    return .failure(Refusal(text: error.message))
                }
            }
            let nothing = JSONObject(["triggers": .array([]), "events": .array([])])
            let elsewhere = Refusal(text: "this database has no triggers here; another node may own it")
            then(answer ?? (wish == .list ? .success(nothing) : .failure(elsewhere)))
            sender.goOn()
        }
        if !isAsked { then(.failure(Refusal(text: "the server sends no events at the moment: its log says why"))) }
    }

    /// The answer about a database that has never been written to.
    package static func answer(
        _ wish: Wish, trigger name: String?, withoutEvents definitions: [TriggerDefinition]
    ) -> Result<JSONObject, Refusal> {
        let named = definitions.filter { name == nil || name == $0.name }.sorted { $0.name < $1.name }
        if wish == .list {
            let list = named.map { JSONValue.object($0.summary(nil)) }
            return .success(JSONObject(["triggers": .array(list), "events": .array([])]))
        }
        if let name, named.isEmpty { return .failure(.unknown(name)) }
        return .success(JSONObject(["count": .integer(0), "more": .bool(false)]))
    }

    private static func list(
        _ triggers: inout DatabaseTriggers, _ name: String?, limit: Int
    ) throws(StorageError) -> JSONObject {
        var list: [JSONValue] = []
        for (trigger, feed) in triggers.feeds.sorted(by: { $0.key < $1.key }) where name == nil || name == trigger {
            let prefix = OutboxKey.prefix(of: trigger, isAside: false)
            let stored =
                feed.goal == nil ? 0 : try triggers.reader.eventCount(from: prefix, below: prefix + [0xFF])
            let waiting = max(feed.queue.count, stored)
            var entry = feed.definition.summary(feed.figures)
            entry["waiting"] = .integer(Int64(waiting))
            entry["underWay"] = .integer(Int64(feed.queue.underWay))
            entry["aside"] = .integer(Int64(try triggers.countAside(of: trigger)))
            entry["isDown"] = .bool(feed.queue.isOut)
            list.append(.object(entry))
        }
        var events: [JSONValue] = []
        try triggers.forEachAside(of: name) { row in
            guard events.count < limit else { return false }
            if let event = try? TriggerEvent(stored: row.event) { events.append(.object(event.summary)) }
            return true
        }
        return JSONObject(["triggers": .array(list), "events": .array(events)])
    }

    /// Nil if there is no such trigger.
    private static func changes(
        _ triggers: inout DatabaseTriggers, _ wish: Wish, _ name: String?, _ id: String?
    ) throws(StorageError) -> (OutboxReport, JSONObject)? {
        if let name, try !triggers.knows(name) { return nil }
        var news = OutboxReport()
        var (isMore, bytes) = (false, 0)
        let now = WallClock.milliseconds
        try triggers.forEachAside(of: name) { row in
            guard var event = try? TriggerEvent(stored: row.event), id == nil || event.id == id else { return true }
            isMore = news.count == pageMax || bytes >= pageBytesMax
            if isMore { return false }
            if wish == .drop {
                news.done.append(row.key)
            } else if event.isWhole {
                event.failure = nil
                event.since = now
                bytes += row.event.count
                news.again.append((row.key, event))
            }
            return true
        }
        triggers.leaveAside(news.done + news.again.map(\.key))
        if wish == .drop, news.isEmpty, let id { news.done += try dropWaiting(&triggers, name, id) }
        return (news, JSONObject(["count": .integer(Int64(news.count)), "more": .bool(isMore)]))
    }

    /// Drops an event that waits, unless it is under way. Events of triggers that are gone wait as well.
    private static func dropWaiting(
        _ triggers: inout DatabaseTriggers, _ name: String?, _ id: String
    ) throws(StorageError) -> [OutboxKey] {
        var found: (key: OutboxKey, event: TriggerEvent)?
        let prefix = name.map { OutboxKey.prefix(of: $0, isAside: false) } ?? [0]
        try triggers.reader.forEachEvent(withPrefix: prefix) { row in
            if let event = try? TriggerEvent(stored: row.event), event.id == id { found = (row.key, event) }
            return found == nil
        }
        guard let found else { return [] }
        let name = found.event.trigger
        // Those that are not in memory need not be taken out of it.
        guard let feed = triggers.feeds[name], !feed.last.precedesBytewise(found.key.bytes) else { return [found.key] }
        let isOut = triggers.feeds[name]?.queue.remove(found.key, at: found.event.path) ?? true
        return isOut ? [found.key] : []
    }
}

extension TriggerDefinition {
    /// Of one without events.
    fileprivate func summary(_ figures: TriggerFigures?) -> JSONObject {
        JSONObject([
            "name": .text(name), "on": .text(kind.rawValue), "path": .text("/\(pattern.text)"),
            "target": .text(targetText), "waiting": .integer(0), "underWay": .integer(0), "aside": .integer(0),
            "delivered": .integer(figures?.delivered ?? 0), "failures": .integer(figures?.failures ?? 0),
            "isDown": .bool(false), "lastFailure": figures?.lastFailure.map { .text($0) },
        ])
    }
}

extension TriggerEvent {
    fileprivate var summary: JSONObject {
        JSONObject([
            "id": .text(id), "trigger": .text(trigger), "type": .text(kind.rawValue), "path": .text("\(path)"),
            "time": .integer(time), "failure": failure.map { .text($0) }, "whole": .bool(isWhole),
        ])
    }
}
