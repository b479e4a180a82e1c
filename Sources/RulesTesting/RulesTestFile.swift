package import HearthSecurityRules

/// A file of cases for `hearth rules test` (docs/rules.md 5).
package struct RulesTestFile: Sendable {
    /// The rules file, seen from the folder of the test file.
    package private(set) var rules: String?
    /// The settings file, likewise.
    package private(set) var settings: String?
    package private(set) var tests: [RulesTest] = []

    /// Reads strict JSON.
    package init(parsing file: [UInt8]) throws(RulesError) {
        do throws(Mistake) {
            var parser = RulesTestParser(file)
            try parser.parse()
            rules = parser.rules
            settings = parser.settings
            tests = parser.tests
        } catch {
            throw RulesError(error, in: file)
        }
    }
}
