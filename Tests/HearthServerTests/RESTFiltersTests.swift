import HearthJSONTree
import HearthTestSupport
import Testing

@testable import HearthREST

@Suite("REST filters") struct RESTFiltersTests {
    private func filters(_ parameters: [(String, String)]) -> RESTFilters {
        var filters = RESTFilters()
        for (name, value) in parameters { filters.set(name, Array(value.utf8)) }
        return filters
    }

    /// The keys that parameters select, in key order.
    private func keys(_ parameters: [(String, String)]) throws(RESTError) -> String {
        let node: CanonicalJSON = #"""
            {".priority":9,"7":{"x":2},"a":{".priority":"p","x":1},"b":{"x":2},"c":{"x":2},"d":{"x":"é z"},"e":{"w":1},"f":{".priority":2,".value":3}}
            """#
        guard let query = try filters(parameters).query() else { return "whole" }
        return query.select(from: node).children.map(\.key.description).joined(separator: " ")
    }

    @Test("parameters become a query (rest.md 2)")
    func queries() throws {
        let table: [([(String, String)], String)] = [
            ([], "whole"),
            ([("orderBy", #""$key""#)], "7 a b c d e f"),
            ([("orderBy", #""$key""#), ("startAt", #""b""#), ("endAt", #""d""#)], "b c d"),
            ([("orderBy", #""$key""#), ("startAfter", #""b""#), ("endBefore", #""d""#)], "c"),
            ([("orderBy", #""$key""#), ("equalTo", #""7""#)], "7"),
            ([("orderBy", #""$key""#), ("startAfter", #""7""#), ("limitToFirst", "2")], "a b"),
            ([("orderBy", #""$key""#), ("limitToLast", "2")], "e f"),
            ([("orderBy", #""x""#), ("equalTo", "2")], "7 b c"),
            ([("orderBy", #""x""#), ("startAt", "2")], "7 b c d"),
            ([("orderBy", #""x""#), ("startAfter", "2")], "d"),
            ([("orderBy", #""x""#), ("endAt", "2")], "7 a b c e f"),
            ([("orderBy", #""x""#), ("endBefore", "2")], "a e f"),
            ([("orderBy", #""x""#), ("endBefore", "2"), ("limitToLast", "1")], "a"),
            ([("orderBy", #""x""#), ("equalTo", "null")], "e f"),
            ([("orderBy", #""x""#), ("equalTo", #" "\u00e9 z" "#)], "d"),
            ([("orderBy", #""x/y""#), ("limitToFirst", "1")], "7"),
            ([("orderBy", #""$priority""#), ("startAt", "0")], "a f"),
            ([("orderBy", #""$value""#), ("endBefore", #""""#)], "f"),
            // A bound may have a key (rest.md 2).
            ([("orderBy", #""x""#), ("startAt", #"2,"b""#)], "b c d"),
            ([("orderBy", #""x""#), ("startAfter", #"2,"b""#)], "c d"),
            ([("orderBy", #""x""#), ("startAt", "2"), ("endAt", #"2,"b""#)], "7 b"),
            ([("orderBy", #""x""#), ("equalTo", #"2,"b""#)], "b"),
            ([("orderBy", #""x""#), ("equalTo", #""a\",b,\"","k""#)], ""),
            ([("orderBy", #""x""#), ("equalTo", #""é z","d""#)], "d"),
        ]
        for (parameters, expected) in table { #expect(try keys(parameters) == expected, "\(parameters)") }
    }

    @Test("bounds that contradict each other are refused")
    func contradictions() {
        let order = ("orderBy", #""x""#)
        for (parameters, text) in [
            ([("startAt", "1"), ("startAfter", "1")], "Only one of startAt and startAfter may be specified"),
            ([("endAt", "1"), ("endBefore", "1")], "Only one of endAt and endBefore may be specified"),
            (
                [("equalTo", "1"), ("startAfter", "1")],
                "equalTo cannot be specified in addition to startAfter, startAt, endAt, or endBefore"
            ),
        ] {
            #expect(throws: RESTError(text)) { try keys(parameters + [order]) }
        }
    }
}
