@testable import HearthClient
import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol

@Suite("The sync tree")
struct SyncTreeTests {
    @Test("does what each script says, wherever in the database", arguments: SyncCase.all)
    func script(_ each: SyncCase) throws {
        for base in ["", "/base", "/a/deep/base"] {
            var script = SyncScript(base: base)
            #expect(try script.run(each.script) == each.script, "\(each.name), below '\(base)'")
        }
    }
}
