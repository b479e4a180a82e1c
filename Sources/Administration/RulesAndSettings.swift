import HearthJSONValues
import HearthSecurityRules

/// The rules and settings of a database, replaced in one step (administration.md 1).
struct RulesAndSettings {
    /// As `rules:line:column: …` if it is one of a text.
    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    let rules: RulesProgram
    let settings: DatabaseSettings

    /// Reads `{"rules":"…","settings":"…"}`. They are texts, so that comments are kept, and lines and columns are those
    /// of the files.
    init(parsing body: [UInt8]) throws(Mistake) {
        let members = (try? JSONValue(parsing: body))?.object
        guard let members, let rules = members["rules"]?.utf8, let settings = members["settings"]?.utf8 else {
            throw Mistake(description: #"Expected the texts of both files: {"rules":"…","settings":"…"}"#)
        }
        if let other = members.members.first(where: {
            $0.name != Array("rules".utf8) && $0.name != Array("settings".utf8)
        }) {
            throw Mistake(description: "Unknown member '\(String(decoding: other.name, as: UTF8.self))'")
        }
        do throws(RulesError) { self.rules = try RulesProgram(parsing: rules) } catch {
            throw Mistake(description: "rules:\(error)")
        }
        do throws(RulesError) { self.settings = try DatabaseSettings(parsing: settings) } catch {
            throw Mistake(description: "settings:\(error)")
        }
    }
}
