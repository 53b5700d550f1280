<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>Announcer</name>
    <message numerus="yes">
        <source>%n new; the last: {}</source>
        <translation>
            <numerusform>%n neue; die letzte: {}</numerusform>
            <numerusform>%n neue; die letzte: {}</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Asking</name>
    <message>
        <source>Start it from a terminal: gcom-chat --demo</source>
        <translation>Im Terminal geht es mit: gcom-chat --demo</translation>
    </message>
    <message>
        <source>The demo did not start</source>
        <translation>Die Vorführung ist nicht gestartet</translation>
    </message>
    <message>
        <source>Could not {}</source>
        <translation>Fehlgeschlagen: {}</translation>
    </message>
    <message>
        <source>Check the address, and that gcom-registry runs there; the chat tries again by itself.</source>
        <translation>Adresse prüfen, und ob dort gcom-registry läuft; der Chat versucht es von selbst wieder.</translation>
    </message>
</context>
<context>
    <name>AuditPage</name>
    <message>
        <source>Audit</source>
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>Folder of delivery logs</source>
        <translation>Ordner der Zustell-Logs</translation>
    </message>
    <message>
        <source>&amp;Write delivery logs there</source>
        <translation>&amp;Zustell-Logs dorthin schreiben</translation>
    </message>
    <message>
        <source>Logs begin when the chat connects: leave the groups, and come back to them.</source>
        <translation>Logs beginnen beim Verbinden: die Gruppen verlassen und zurückkommen.</translation>
    </message>
    <message>
        <source>&amp;Unpromised rules, too</source>
        <translation>Auch n&amp;icht Versprochenes</translation>
    </message>
    <message>
        <source>Judge what the group&apos;s ordering does not promise: see what it costs.</source>
        <translation>Auch beurteilen, was die Ordnung der Gruppe nicht verspricht: so sieht man, was das kostet.</translation>
    </message>
    <message>
        <source>&amp;Judge</source>
        <translation>&amp;Urteilen</translation>
    </message>
    <message>
        <source>Cho&amp;ose…</source>
        <translation>&amp;Wählen…</translation>
    </message>
    <message>
        <source>Connect agai&amp;n</source>
        <translation>&amp;Neu verbinden</translation>
    </message>
    <message>
        <source>O&amp;pen report</source>
        <translation>Bericht ö&amp;ffnen</translation>
    </message>
    <message>
        <source>Members that write delivery logs into one folder can be judged by what they wrote: gcom audit.</source>
        <translation>Mitglieder, die Zustell-Logs in einen Ordner schreiben, können danach beurteilt werden: gcom audit.</translation>
    </message>
    <message>
        <source>Rule</source>
        <translation>Regel</translation>
    </message>
    <message>
        <source>Group</source>
        <translation>Gruppe</translation>
    </message>
    <message>
        <source>Promised</source>
        <translation>Versprochen</translation>
    </message>
    <message>
        <source>What happened</source>
        <translation>Was geschah</translation>
    </message>
    <message>
        <source>Incidents</source>
        <translation>Vorfälle</translation>
    </message>
    <message>
        <source>&amp;Logs in</source>
        <translation>&amp;Logs in</translation>
    </message>
    <message>
        <source>Logs begin with the next connect; Connect again does it now.</source>
        <translation>Logs beginnen mit der nächsten Verbindung; Neu verbinden tut es jetzt.</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Judging {}…</source>
        <translation>{} wird beurteilt…</translation>
    </message>
    <message>
        <source>No verdict: {}</source>
        <translation>Kein Urteil: {}</translation>
    </message>
    <message>
        <source> {} more are in the report.</source>
        <translation> {} weitere stehen im Bericht.</translation>
    </message>
    <message>
        <source> Double click: the messages.</source>
        <translation> Doppelklick: die Nachrichten.</translation>
    </message>
    <message>
        <source>✗ yes</source>
        <translation>✗ ja</translation>
    </message>
    <message>
        <source>no</source>
        <translation>nein</translation>
    </message>
</context>
<context>
    <name>ChatWindow</name>
    <message>
        <source>&amp;Connection</source>
        <translation>&amp;Verbindung</translation>
    </message>
    <message>
        <source>&amp;Group</source>
        <translation>&amp;Gruppe</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>&amp;Connect to a registry…</source>
        <translation>&amp;Mit einer Registry verbinden…</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>&amp;Beenden</translation>
    </message>
    <message>
        <source>C&amp;reate…</source>
        <translation>&amp;Anlegen…</translation>
    </message>
    <message>
        <source>&amp;Join…</source>
        <translation>&amp;Beitreten…</translation>
    </message>
    <message>
        <source>&amp;Leave</source>
        <translation>&amp;Verlassen</translation>
    </message>
    <message>
        <source>&amp;Ordering duel…</source>
        <translation>&amp;Duell der Ordnungen…</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>&amp;Tour</source>
        <translation>&amp;Rundgang</translation>
    </message>
    <message>
        <source>registry away</source>
        <translation>Registry nicht erreichbar</translation>
    </message>
    <message>
        <source>{} at {}</source>
        <translation>{} bei {}</translation>
    </message>
    <message>
        <source>not connected</source>
        <translation>nicht verbunden</translation>
    </message>
    <message>
        <source>Export the conversation</source>
        <translation>Gespräch exportieren</translation>
    </message>
</context>
<context>
    <name>ClocksPage</name>
    <message>
        <source>Clocks</source>
        <translation>Uhren</translation>
    </message>
    <message>
        <source>Row: what a member is known to have delivered, by sender. Your own row is exact; another’s is as old as its last message. Bold: changed just now. ▾: this member is not known to have all that is known of.</source>
        <translation>Zeile: was ein Mitglied bekanntlich zugestellt hat, je Absender. Die eigene Zeile ist genau, jede andere so alt wie die letzte Nachricht des Mitglieds. Fett: eben geändert. ▾: das Mitglied hat, soweit bekannt, noch nicht alles.</translation>
    </message>
    <message>
        <source>Vector clocks</source>
        <translation>Vektoruhren</translation>
    </message>
    <message>
        <source>{} (you)</source>
        <translation>{} (du)</translation>
    </message>
</context>
<context>
    <name>CompletionList</name>
    <message>
        <source>Completions</source>
        <translation>Ergänzungen</translation>
    </message>
</context>
<context>
    <name>ConnectDialog</name>
    <message>
        <source>Connect to a registry</source>
        <translation>Mit einer Registry verbinden</translation>
    </message>
    <message>
        <source>Connect</source>
        <translation>Verbinden</translation>
    </message>
    <message>
        <source>&amp;Nick</source>
        <translation>&amp;Name</translation>
    </message>
    <message>
        <source>&amp;Registry</source>
        <translation>&amp;Registry</translation>
    </message>
    <message>
        <source>for a registry on another machine: gcom1/…</source>
        <translation>für eine Registry auf einem anderen Rechner: gcom1/…</translation>
    </message>
    <message>
        <source>&amp;Invitation</source>
        <translation>&amp;Einladung</translation>
    </message>
    <message>
        <source>Protection</source>
        <translation>Schutz</translation>
    </message>
    <message>
        <source>Makes a key on this machine, and gets its certificate from {}; it works once.</source>
        <translation>Erzeugt auf diesem Rechner einen Schlüssel und holt dessen Zertifikat von {}; das geht einmal.</translation>
    </message>
    <message>
        <source>Accept and connect</source>
        <translation>Annehmen und verbinden</translation>
    </message>
</context>
<context>
    <name>Connector</name>
    <message>
        <source>it does not answer</source>
        <translation>sie antwortet nicht</translation>
    </message>
</context>
<context>
    <name>ConversationView</name>
    <message>
        <source>Conversation</source>
        <translation>Gespräch</translation>
    </message>
    <message>
        <source>Go to the newest message</source>
        <translation>Zur neuesten Nachricht</translation>
    </message>
    <message numerus="yes">
        <source>↓ %n new</source>
        <translation>
            <numerusform>↓ %n neue</numerusform>
            <numerusform>↓ %n neue</numerusform>
        </translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Kopieren</translation>
    </message>
    <message>
        <source>Copy with &amp;header</source>
        <translation>Mit K&amp;opf kopieren</translation>
    </message>
    <message>
        <source>Copy as &amp;JSON</source>
        <translation>Als &amp;JSON kopieren</translation>
    </message>
    <message>
        <source>Op&amp;en the text…</source>
        <translation>Text öff&amp;nen…</translation>
    </message>
    <message>
        <source>Copy the &amp;link</source>
        <translation>&amp;Link kopieren</translation>
    </message>
    <message>
        <source>&amp;Open {}</source>
        <translation>{} ö&amp;ffnen</translation>
    </message>
    <message>
        <source>&amp;Who has this message?</source>
        <translation>&amp;Wer hat diese Nachricht?</translation>
    </message>
</context>
<context>
    <name>CreateDialog</name>
    <message>
        <source>Create a group</source>
        <translation>Gruppe anlegen</translation>
    </message>
    <message>
        <source>Create and join</source>
        <translation>Anlegen und beitreten</translation>
    </message>
    <message>
        <source>reliable: what one has, all have</source>
        <translation>zuverlässig: was einer hat, haben alle</translation>
    </message>
    <message>
        <source>basic: one copy to each; a loss is told, not mended</source>
        <translation>einfach: eine Kopie an jeden; ein Verlust wird gemeldet, nicht behoben</translation>
    </message>
    <message>
        <source>empty: dynamic; else static, of these names</source>
        <translation>leer: dynamisch; sonst statisch, aus diesen Namen</translation>
    </message>
    <message>
        <source>show a message only once a majority holds it</source>
        <translation>eine Nachricht erst zeigen, wenn eine Mehrheit sie hat</translation>
    </message>
    <message>
        <source>primary: the side with a majority goes on</source>
        <translation>primär: die Seite mit einer Mehrheit macht weiter</translation>
    </message>
    <message>
        <source>partitionable: every side goes on, and they merge</source>
        <translation>teilbar: jede Seite macht weiter, und sie werden wieder eins</translation>
    </message>
    <message>
        <source>4 s of silence: for a local network</source>
        <translation>4 s Stille: für ein lokales Netz</translation>
    </message>
    <message>
        <source>12 s: for networks with slow or broken ways</source>
        <translation>12 s: für Netze mit langsamen oder brüchigen Wegen</translation>
    </message>
    <message>
        <source>60 s: for computers that sleep now and then</source>
        <translation>60 s: für Rechner, die manchmal schlafen</translation>
    </message>
    <message>
        <source>sign each message; every member needs a certificate</source>
        <translation>jede Nachricht signieren; jedes Mitglied braucht ein Zertifikat</translation>
    </message>
    <message>
        <source>sign each message: needs a certificate (Ctrl+R)</source>
        <translation>jede Nachricht signieren: braucht ein Zertifikat (Strg+R)</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>&amp;Name</translation>
    </message>
    <message>
        <source>&amp;Ordering</source>
        <translation>&amp;Ordnung</translation>
    </message>
    <message>
        <source>&amp;Multicast</source>
        <translation>&amp;Multicast</translation>
    </message>
    <message>
        <source>M&amp;embers</source>
        <translation>M&amp;itglieder</translation>
    </message>
    <message>
        <source>&amp;Safe</source>
        <translation>&amp;Sicher</translation>
    </message>
    <message>
        <source>Nets&amp;plit</source>
        <translation>Netz&amp;teilung</translation>
    </message>
    <message>
        <source>S&amp;uspected after</source>
        <translation>&amp;Verdacht nach</translation>
    </message>
    <message>
        <source>Si&amp;gned</source>
        <translation>Si&amp;gniert</translation>
    </message>
    <message>
        <source>A group needs a name.</source>
        <translation>Eine Gruppe braucht einen Namen.</translation>
    </message>
    <message>
        <source>You are {}, and not among the members: nobody else gets in.</source>
        <translation>Du bist {}, und nicht unter den Mitgliedern: sonst kommt niemand hinein.</translation>
    </message>
</context>
<context>
    <name>DebugPage</name>
    <message>
        <source>Debug mode</source>
        <translation>Fehlermodus</translation>
    </message>
    <message>
        <source>seed </source>
        <translation>Startwert </translation>
    </message>
    <message>
        <source>Seed of all chance</source>
        <translation>Startwert allen Zufalls</translation>
    </message>
    <message>
        <source>&amp;Record</source>
        <translation>Au&amp;fnehmen</translation>
    </message>
    <message>
        <source>Re&amp;play…</source>
        <translation>Ab&amp;spielen…</translation>
    </message>
    <message>
        <source>Links, from the row&apos;s member to the column&apos;s</source>
        <translation>Verbindungen, vom Mitglied der Zeile zu dem der Spalte</translation>
    </message>
    <message>
        <source>debug mode is on</source>
        <translation>der Fehlermodus ist an</translation>
    </message>
    <message>
        <source>debug mode is off</source>
        <translation>der Fehlermodus ist aus</translation>
    </message>
    <message>
        <source>debug mode is off: /debug on turns it on</source>
        <translation>der Fehlermodus ist aus: /debug on schaltet ihn ein</translation>
    </message>
    <message>
        <source>faults now: {}</source>
        <translation>Fehler jetzt: {}</translation>
    </message>
    <message>
        <source>&amp;Turn debug mode on</source>
        <translation>Fehler&amp;modus an</translation>
    </message>
    <message>
        <source>Hea&amp;l all</source>
        <translation>A&amp;lles heilen</translation>
    </message>
    <message>
        <source>&amp;Turn debug mode off</source>
        <translation>Fehler&amp;modus aus</translation>
    </message>
    <message>
        <source>Debug mode is not on: {}</source>
        <translation>Der Fehlermodus ist nicht an: {}</translation>
    </message>
    <message>
        <source>Faults of this chat’s own calls, on purpose; on loopback only. Choose links in the matrix (row: from, column: to), then set what happens to them. Other members keep theirs, unless all follow one file.</source>
        <translation>Fehler in den Aufrufen dieses Chats, mit Absicht; nur auf dem eigenen Rechner. Verbindungen in der Matrix wählen (Zeile: von, Spalte: nach), dann einstellen, was mit ihnen geschieht. Andere Mitglieder behalten ihre, außer alle folgen einer Datei.</translation>
    </message>
    <message>
        <source>to {}</source>
        <translation>nach {}</translation>
    </message>
    <message>
        <source>from {} to {}: {}</source>
        <translation>von {} nach {}: {}</translation>
    </message>
    <message>
        <source>no faults</source>
        <translation>keine Fehler</translation>
    </message>
    <message>
        <source>&amp;Save record…</source>
        <translation>Aufnahme s&amp;ichern…</translation>
    </message>
    <message>
        <source>Save the record</source>
        <translation>Die Aufnahme sichern</translation>
    </message>
    <message>
        <source>The record goes on: save it later, or turn debug mode off to drop it.</source>
        <translation>Die Aufnahme geht weiter: speichere sie später, oder schalte den Fehlermodus aus, um sie zu verwerfen.</translation>
    </message>
    <message>
        <source>cannot write {}: {}; choose another place</source>
        <translation>{} kann nicht geschrieben werden: {}; einen anderen Ort wählen</translation>
    </message>
    <message>
        <source>Replay a record</source>
        <translation>Eine Aufnahme abspielen</translation>
    </message>
    <message>
        <source>{} cannot be replayed: {}</source>
        <translation>{} kann nicht abgespielt werden: {}</translation>
    </message>
</context>
<context>
    <name>DebugStripe</name>
    <message>
        <source>Debug mode</source>
        <translation>Fehlermodus</translation>
    </message>
    <message>
        <source>Turn off</source>
        <translation>Ausschalten</translation>
    </message>
    <message>
        <source>nothing goes wrong yet</source>
        <translation>noch geht nichts schief</translation>
    </message>
    <message>
        <source>DEBUG MODE: the network is bad on purpose. {}</source>
        <translation>FEHLERMODUS: das Netz ist mit Absicht schlecht. {}</translation>
    </message>
</context>
<context>
    <name>Desk</name>
    <message>
        <source>&amp;Copy</source>
        <translation>&amp;Kopieren</translation>
    </message>
    <message>
        <source>Copy with &amp;header</source>
        <translation>Mit K&amp;opf kopieren</translation>
    </message>
    <message>
        <source>Copy as &amp;JSON</source>
        <translation>Als &amp;JSON kopieren</translation>
    </message>
    <message>
        <source>&amp;Find…</source>
        <translation>&amp;Suchen…</translation>
    </message>
    <message>
        <source>Find p&amp;revious</source>
        <translation>&amp;Vorigen Treffer suchen</translation>
    </message>
    <message>
        <source>Find &amp;next</source>
        <translation>&amp;Nächsten Treffer suchen</translation>
    </message>
    <message>
        <source>&amp;Preferences…</source>
        <translation>&amp;Einstellungen…</translation>
    </message>
    <message>
        <source>&amp;Go to a group…</source>
        <translation>&amp;Gehe zu einer Gruppe…</translation>
    </message>
    <message>
        <source>Next &amp;unread tab</source>
        <translation>Nächster &amp;ungelesener Reiter</translation>
    </message>
    <message>
        <source>All is &amp;seen, go to the newest</source>
        <translation>Alles gese&amp;hen, zur neuesten</translation>
    </message>
    <message>
        <source>Go to the &amp;first unread message</source>
        <translation>Zur e&amp;rsten ungelesenen Nachricht</translation>
    </message>
    <message>
        <source>&amp;Zoom in</source>
        <translation>V&amp;ergrößern</translation>
    </message>
    <message>
        <source>Zoom ou&amp;t</source>
        <translation>Ver&amp;kleinern</translation>
    </message>
    <message>
        <source>Zoom &amp;back to 100 %</source>
        <translation>Zurück auf &amp;100 %</translation>
    </message>
    <message>
        <source>Go to tab {}</source>
        <translation>Gehe zu Reiter {}</translation>
    </message>
    <message>
        <source>&amp;Shortcuts</source>
        <translation>&amp;Tastenkürzel</translation>
    </message>
    <message>
        <source>&amp;Next tab</source>
        <translation>&amp;Nächster Reiter</translation>
    </message>
    <message>
        <source>&amp;Previous tab</source>
        <translation>&amp;Voriger Reiter</translation>
    </message>
    <message>
        <source>Ctrl+1 to Ctrl+{}, Alt+1 to Alt+{}</source>
        <translation>Strg+1 bis Strg+{}, Alt+1 bis Alt+{}</translation>
    </message>
    <message>
        <source>Enter</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>Send the message</source>
        <translation>Nachricht senden</translation>
    </message>
    <message>
        <source>Shift+Enter</source>
        <translation>Umschalt+Eingabe</translation>
    </message>
    <message>
        <source>Begin a new line</source>
        <translation>Neue Zeile beginnen</translation>
    </message>
    <message>
        <source>Tab</source>
        <translation>Tabulator</translation>
    </message>
    <message>
        <source>Complete a name or a command</source>
        <translation>Namen oder Befehl vervollständigen</translation>
    </message>
    <message>
        <source>Up, Down</source>
        <translation>Auf, Ab</translation>
    </message>
    <message>
        <source>Walk through what was sent</source>
        <translation>Durch Gesendetes blättern</translation>
    </message>
    <message>
        <source>Go to a tab</source>
        <translation>Zu einem Reiter gehen</translation>
    </message>
    <message>
        <source>Writing</source>
        <translation>Schreiben</translation>
    </message>
    <message>
        <source>this message is not in the conversation any more</source>
        <translation>diese Nachricht ist nicht mehr im Gespräch</translation>
    </message>
</context>
<context>
    <name>DuelDialog</name>
    <message>
        <source>Ordering duel</source>
        <translation>Duell der Ordnungen</translation>
    </message>
    <message>
        <source>The seed of the network&apos;s chance: another one gives other delays.</source>
        <translation>Der Startwert des Zufalls im Netz: ein anderer gibt andere Verzögerungen.</translation>
    </message>
    <message>
        <source>&amp;Run again</source>
        <translation>&amp;Noch einmal</translation>
    </message>
    <message>
        <source>&amp;Save picture…</source>
        <translation>Bild &amp;sichern…</translation>
    </message>
    <message>
        <source>a live conversation: Bob and Carol answer what you say, in all five groups</source>
        <translation>ein Gespräch jetzt: Bob und Carol antworten, in allen fünf Gruppen</translation>
    </message>
    <message>
        <source>Sa&amp;y</source>
        <translation>Sa&amp;gen</translation>
    </message>
    <message>
        <source>S&amp;eed</source>
        <translation>Start&amp;wert</translation>
    </message>
    <message>
        <source>Say as A&amp;lice</source>
        <translation>Als A&amp;lice sagen</translation>
    </message>
    <message>
        <source>Five groups of four members form; then your line goes out…</source>
        <translation>Fünf Gruppen mit vier Mitgliedern bilden sich; dann geht deine Zeile hinaus…</translation>
    </message>
    <message>
        <source>Live: you are Alice; Run again goes back to the script.</source>
        <translation>Jetzt: du bist Alice; „Noch einmal“ führt zum Drehbuch zurück.</translation>
    </message>
    <message>
        <source>The members talk: {} of {} orderings are done…</source>
        <translation>Die Mitglieder reden: {} von {} Ordnungen sind fertig…</translation>
    </message>
    <message>
        <source>The duel could not be run: {}</source>
        <translation>Das Duell konnte nicht laufen: {}</translation>
    </message>
    <message>
        <source>Run just now, by real groups of four members.</source>
        <translation>Eben gelaufen, mit echten Gruppen von vier Mitgliedern.</translation>
    </message>
    <message>
        <source>Save the picture</source>
        <translation>Das Bild sichern</translation>
    </message>
    <message>
        <source>The picture cannot be written to {}: choose another place.</source>
        <translation>Das Bild kann nicht nach {} geschrieben werden: einen anderen Ort wählen.</translation>
    </message>
</context>
<context>
    <name>DuelPicture</name>
    <message>
        <source>Ordering duel</source>
        <translation>Duell der Ordnungen</translation>
    </message>
</context>
<context>
    <name>FoundDialog</name>
    <message>
        <source>Found in the scrollback: {}</source>
        <translation>Im Verlauf gefunden: {}</translation>
    </message>
    <message>
        <source>Hits</source>
        <translation>Treffer</translation>
    </message>
    <message>
        <source>What was said around it</source>
        <translation>Was davor und danach gesagt wurde</translation>
    </message>
    <message>
        <source>Choose a line to see what was said around it.</source>
        <translation>Eine Zeile wählen, um zu sehen, was davor und danach gesagt wurde.</translation>
    </message>
</context>
<context>
    <name>GroupTab</name>
    <message>
        <source>Message to {} alone, or /help</source>
        <translation>Nachricht an {} allein, oder /help</translation>
    </message>
    <message>
        <source>{} alone, in the group {}</source>
        <translation>{} allein, in der Gruppe {}</translation>
    </message>
    <message>
        <source>this chat leads the group</source>
        <translation>dieser Chat führt die Gruppe</translation>
    </message>
    <message numerus="yes">
        <source>%n message(s) held back: they wait for others</source>
        <translation>
            <numerusform>%n Nachricht zurückgehalten: sie wartet auf andere</numerusform>
            <numerusform>%n Nachrichten zurückgehalten: sie warten auf andere</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n unread</source>
        <translation>
            <numerusform>%n ungelesen</numerusform>
            <numerusform>%n ungelesen</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n mention(s)</source>
        <translation>
            <numerusform>%n Erwähnung</numerusform>
            <numerusform>%n Erwähnungen</numerusform>
        </translation>
    </message>
    <message>
        <source>lines of yours that were not sent</source>
        <translation>eigene Zeilen, die nicht gesendet wurden</translation>
    </message>
</context>
<context>
    <name>HeldPage</name>
    <message>
        <source>Held back</source>
        <translation>Zurückgehalten</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Waits for</source>
        <translation>Wartet auf</translation>
    </message>
    <message>
        <source>Since</source>
        <translation>Seit</translation>
    </message>
</context>
<context>
    <name>InsightDock</name>
    <message>
        <source>Inside the group</source>
        <translation>Im Innern der Gruppe</translation>
    </message>
    <message>
        <source>&amp;Inside the group</source>
        <translation>&amp;Im Innern der Gruppe</translation>
    </message>
    <message>
        <source>Inside {}</source>
        <translation>Im Innern von {}</translation>
    </message>
</context>
<context>
    <name>JoinDialog</name>
    <message>
        <source>Join a group</source>
        <translation>Gruppe beitreten</translation>
    </message>
    <message>
        <source>Join</source>
        <translation>Beitreten</translation>
    </message>
    <message>
        <source>Group</source>
        <translation>Gruppe</translation>
    </message>
    <message>
        <source>Ordering</source>
        <translation>Ordnung</translation>
    </message>
    <message>
        <source>Members</source>
        <translation>Mitglieder</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>Groups</source>
        <translation>Gruppen</translation>
    </message>
    <message>
        <source>nobody</source>
        <translation>niemand</translation>
    </message>
    <message>
        <source>in service</source>
        <translation>in Betrieb</translation>
    </message>
    <message>
        <source>in doubt</source>
        <translation>ungewiss</translation>
    </message>
    <message>
        <source>empty</source>
        <translation>leer</translation>
    </message>
    <message>
        <source>, signed</source>
        <translation>, signiert</translation>
    </message>
    <message>
        <source>you are in it</source>
        <translation>du bist darin</translation>
    </message>
    <message>
        <source>The registry knows no groups yet: create one.</source>
        <translation>Die Registry kennt noch keine Gruppen: bitte eine anlegen.</translation>
    </message>
    <message>
        <source>Choose a group.</source>
        <translation>Bitte eine Gruppe wählen.</translation>
    </message>
</context>
<context>
    <name>LatencyPage</name>
    <message>
        <source>Latency</source>
        <translation>Laufzeit</translation>
    </message>
    <message>
        <source>Own messages, from sending to delivery here (ms, at most)</source>
        <translation>Eigene Nachrichten, vom Senden bis zur Zustellung hier (ms, höchstens)</translation>
    </message>
    <message>
        <source>All messages, from arrival to delivery here (ms, at most)</source>
        <translation>Alle Nachrichten, von der Ankunft bis zur Zustellung hier (ms, höchstens)</translation>
    </message>
    <message>
        <source>No message was delivered since the dock was opened.</source>
        <translation>Seit dieses Feld offen ist, wurde keine Nachricht zugestellt.</translation>
    </message>
    <message>
        <source>{} own messages: median {}, 95 of 100 within {}, slowest {}. </source>
        <translation>{} eigene Nachrichten: Median {}, 95 von 100 in {}, die langsamste {}. </translation>
    </message>
    <message>
        <source>Held back for more than 1 ms: {} of {} messages ({:.0%}), for at most {}.</source>
        <translation>Länger als 1 ms zurückgehalten: {} von {} Nachrichten ({:.0%}), höchstens {}.</translation>
    </message>
</context>
<context>
    <name>LinkEditor</name>
    <message>
        <source>How delays are spread</source>
        <translation>Wie Verzögerungen verteilt sind</translation>
    </message>
    <message>
        <source>fixed</source>
        <translation>fest</translation>
    </message>
    <message>
        <source>uniform, from 0</source>
        <translation>gleichmäßig, von 0 an</translation>
    </message>
    <message>
        <source>exponential</source>
        <translation>exponentiell</translation>
    </message>
    <message>
        <source>heavy tail</source>
        <translation>seltene, sehr lange</translation>
    </message>
    <message>
        <source>Delay</source>
        <translation>Verzögerung</translation>
    </message>
    <message>
        <source>Loss</source>
        <translation>Verlust</translation>
    </message>
    <message>
        <source>Duplicates</source>
        <translation>Verdopplung</translation>
    </message>
    <message>
        <source>Reordering</source>
        <translation>Überholen</translation>
    </message>
    <message>
        <source>C&amp;ut</source>
        <translation>Ge&amp;trennt</translation>
    </message>
    <message>
        <source>&amp;Freeze for</source>
        <translation>Einf&amp;rieren für</translation>
    </message>
    <message>
        <source>The members of the chosen rows neither call nor are called for so long.</source>
        <translation>Die Mitglieder der gewählten Zeilen rufen so lange nicht und werden nicht gerufen.</translation>
    </message>
    <message>
        <source>How long a freeze lasts</source>
        <translation>Wie lange das Einfrieren dauert</translation>
    </message>
    <message>
        <source>Spread</source>
        <translation>Verteilung</translation>
    </message>
    <message>
        <source>All links</source>
        <translation>Alle Verbindungen</translation>
    </message>
    <message>
        <source>From {} to {}</source>
        <translation>Von {} nach {}</translation>
    </message>
    <message numerus="yes">
        <source>%n links</source>
        <translation>
            <numerusform>%n Verbindung</numerusform>
            <numerusform>%n Verbindungen</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>MembersView</name>
    <message>
        <source>Members</source>
        <translation>Mitglieder</translation>
    </message>
    <message>
        <source>here since {}</source>
        <translation>hier seit {}</translation>
    </message>
    <message>
        <source>suspected since {}</source>
        <translation>verdächtigt seit {}</translation>
    </message>
    <message>
        <source>gone since {}</source>
        <translation>fort seit {}</translation>
    </message>
    <message>
        <source>the leader: the oldest member</source>
        <translation>der Leiter: das älteste Mitglied</translation>
    </message>
    <message>
        <source>this chat</source>
        <translation>dieser Chat</translation>
    </message>
    <message>
        <source>ignored: nothing of what it says is shown</source>
        <translation>ignoriert: nichts davon wird gezeigt</translation>
    </message>
    <message numerus="yes">
        <source>last heard %n second(s) ago</source>
        <translation>
            <numerusform>zuletzt gehört vor %n Sekunde</numerusform>
            <numerusform>zuletzt gehört vor %n Sekunden</numerusform>
        </translation>
    </message>
    <message>
        <source>a call there and back takes {} ms</source>
        <translation>ein Aufruf hin und zurück dauert {} ms</translation>
    </message>
    <message>
        <source>careful: this name looks like {}</source>
        <translation>Vorsicht: dieser Name sieht aus wie {}</translation>
    </message>
    <message>
        <source> · silent {} s</source>
        <translation> · still {} s</translation>
    </message>
    <message>
        <source>&amp;Private conversation</source>
        <translation>&amp;Privates Gespräch</translation>
    </message>
    <message>
        <source>&amp;Ignore no more</source>
        <translation>Nicht mehr &amp;ignorieren</translation>
    </message>
    <message>
        <source>&amp;Ignore</source>
        <translation>&amp;Ignorieren</translation>
    </message>
</context>
<context>
    <name>MessageInput</name>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Message, or /help</source>
        <translation>Nachricht, oder /help</translation>
    </message>
</context>
<context>
    <name>NetworkPage</name>
    <message>
        <source>empty: where the registry reaches this computer</source>
        <translation>leer: wo die Registry diesen Rechner erreicht</translation>
    </message>
    <message>
        <source>empty: the same</source>
        <translation>leer: dieselbe</translation>
    </message>
    <message>
        <source>Re&amp;gistry</source>
        <translation>Re&amp;gistry</translation>
    </message>
    <message>
        <source>&amp;Listen at</source>
        <translation>&amp;Horchen an</translation>
    </message>
    <message>
        <source>Addr&amp;ess for others</source>
        <translation>Ad&amp;resse für andere</translation>
    </message>
</context>
<context>
    <name>Notifier</name>
    <message>
        <source>{} ({} messages)</source>
        <translation>{} ({} Nachrichten)</translation>
    </message>
</context>
<context>
    <name>OrderPage</name>
    <message>
        <source>Order</source>
        <translation>Ordnung</translation>
    </message>
    <message>
        <source>Now</source>
        <translation>Jetzt</translation>
    </message>
    <message>
        <source>The order now</source>
        <translation>Die Ordnung jetzt</translation>
    </message>
    <message>
        <source>Member</source>
        <translation>Mitglied</translation>
    </message>
    <message>
        <source>Heard</source>
        <translation>Gehört</translation>
    </message>
    <message>
        <source>Members heard</source>
        <translation>Gehörte Mitglieder</translation>
    </message>
    <message>
        <source>Serial</source>
        <translation>Nummer</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Held back</source>
        <translation>Zurückgehalten</translation>
    </message>
    <message>
        <source>Serials</source>
        <translation>Nummern</translation>
    </message>
    <message>
        <source>The newest messages; Enter or a double click shows one in the conversation.</source>
        <translation>Die neuesten Nachrichten; Enter oder ein Doppelklick zeigt eine im Gespräch.</translation>
    </message>
</context>
<context>
    <name>PreferencesDialog</name>
    <message>
        <source>Preferences</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>words, with spaces between</source>
        <translation>Wörter, durch Leerzeichen getrennt</translation>
    </message>
    <message>
        <source>as the system</source>
        <translation>wie das System</translation>
    </message>
    <message>
        <source>light</source>
        <translation>hell</translation>
    </message>
    <message>
        <source>dark</source>
        <translation>dunkel</translation>
    </message>
    <message>
        <source>a font of its own</source>
        <translation>eine eigene Schrift</translation>
    </message>
    <message>
        <source>one line for who comes and goes in a row</source>
        <translation>eine Zeile für Kommen und Gehen in Folge</translation>
    </message>
    <message>
        <source>write delivery logs there, from the next connect on</source>
        <translation>ab der nächsten Verbindung Zustell-Logs dorthin schreiben</translation>
    </message>
    <message>
        <source>tell of mentions and private messages</source>
        <translation>Erwähnungen und private Nachrichten melden</translation>
    </message>
    <message>
        <source>do not disturb</source>
        <translation>nicht stören</translation>
    </message>
    <message>
        <source>show an icon in the tray</source>
        <translation>Symbol in der Leiste zeigen</translation>
    </message>
    <message>
        <source>&amp;Identity</source>
        <translation>&amp;Identität</translation>
    </message>
    <message>
        <source>&amp;Nick</source>
        <translation>&amp;Name</translation>
    </message>
    <message>
        <source>&amp;Colours</source>
        <translation>&amp;Farben</translation>
    </message>
    <message>
        <source>&amp;Font</source>
        <translation>Schrif&amp;t</translation>
    </message>
    <message>
        <source>&amp;Size</source>
        <translation>&amp;Größe</translation>
    </message>
    <message>
        <source>&amp;Zoom</source>
        <translation>&amp;Zoom</translation>
    </message>
    <message>
        <source>&amp;Appearance</source>
        <translation>&amp;Aussehen</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>&amp;Sprache</translation>
    </message>
    <message>
        <source>Tim&amp;es</source>
        <translation>&amp;Uhrzeiten</translation>
    </message>
    <message>
        <source>&amp;Folder of delivery logs</source>
        <translation>&amp;Ordner der Zustell-Logs</translation>
    </message>
    <message>
        <source>Networ&amp;k</source>
        <translation>Netzwer&amp;k</translation>
    </message>
    <message>
        <source>Shor&amp;tcuts</source>
        <translation>Tast&amp;enkürzel</translation>
    </message>
    <message>
        <source>Or&amp;dering and debug</source>
        <translation>Or&amp;dnung und Fehler</translation>
    </message>
    <message>
        <source>&amp;Messages</source>
        <translation>Nachri&amp;chten</translation>
    </message>
    <message>
        <source>&amp;Rows kept per group</source>
        <translation>Aufbewahrte &amp;Zeilen je Gruppe</translation>
    </message>
    <message>
        <source>N&amp;otifications</source>
        <translation>&amp;Meldungen</translation>
    </message>
    <message>
        <source>&amp;Words that count as a mention</source>
        <translation>&amp;Wörter, die als Erwähnung zählen</translation>
    </message>
</context>
<context>
    <name>SearchBar</name>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Search text</source>
        <translation>Suchtext</translation>
    </message>
    <message>
        <source>A text; or with from:bob number:7 view:3 concurrent-with:bob#17 the messages of which that holds.</source>
        <translation>Ein Text; oder mit from:bob number:7 view:3 concurrent-with:bob#17 die Nachrichten, für die das gilt.</translation>
    </message>
    <message>
        <source>in &amp;all tabs</source>
        <translation>in allen R&amp;eitern</translation>
    </message>
    <message>
        <source>&amp;match case</source>
        <translation>Groß/&amp;klein beachten</translation>
    </message>
    <message>
        <source>Previous hit</source>
        <translation>Voriger Treffer</translation>
    </message>
    <message>
        <source>Next hit</source>
        <translation>Nächster Treffer</translation>
    </message>
    <message>
        <source>Close the search (Esc)</source>
        <translation>Suche schließen (Esc)</translation>
    </message>
    <message>
        <source>Close the search</source>
        <translation>Suche schließen</translation>
    </message>
    <message>
        <source>{} older, on disk…</source>
        <translation>{} ältere auf der Platte…</translation>
    </message>
    <message>
        <source>nothing found</source>
        <translation>nichts gefunden</translation>
    </message>
    <message>
        <source>nothing in memory</source>
        <translation>nichts im Speicher</translation>
    </message>
    <message>
        <source>{} of {}</source>
        <translation>{} von {}</translation>
    </message>
    <message numerus="yes">
        <source>%n found</source>
        <translation>
            <numerusform>%n Treffer</numerusform>
            <numerusform>%n Treffer</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ShortcutSheet</name>
    <message>
        <source>Shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
</context>
<context>
    <name>ShortcutsPage</name>
    <message>
        <source>Action</source>
        <translation>Aktion</translation>
    </message>
    <message>
        <source>Keys</source>
        <translation>Tasten</translation>
    </message>
    <message>
        <source>Actions and their keys</source>
        <translation>Aktionen und ihre Tasten</translation>
    </message>
    <message>
        <source>New keys</source>
        <translation>Neue Tasten</translation>
    </message>
    <message>
        <source>&amp;None</source>
        <translation>Kei&amp;ne</translation>
    </message>
    <message>
        <source>As at &amp;first</source>
        <translation>Wie am An&amp;fang</translation>
    </message>
    <message>
        <source>Ne&amp;w keys</source>
        <translation>Ne&amp;ue Tasten</translation>
    </message>
</context>
<context>
    <name>SpaceTimePage</name>
    <message>
        <source>Space-time</source>
        <translation>Raum-Zeit</translation>
    </message>
    <message>
        <source>E&amp;xport for ShiViz…</source>
        <translation>Für ShiViz e&amp;xportieren…</translation>
    </message>
    <message>
        <source>Write these messages as a log that the ShiViz visualizer draws.</source>
        <translation>Diese Nachrichten als Log schreiben, das ShiViz zeichnet.</translation>
    </message>
    <message>
        <source>Export for ShiViz</source>
        <translation>Für ShiViz exportieren</translation>
    </message>
    <message>
        <source>Cannot write {}: {}; choose another place.</source>
        <translation>{} lässt sich nicht schreiben: {}; bitte einen anderen Ort wählen.</translation>
    </message>
    <message>
        <source>Written to {}.</source>
        <translation>Nach {} geschrieben.</translation>
    </message>
    <message>
        <source>The last {} messages, in the order of their delivery here; an arrow leads to a message whose sender had delivered the other. Ring: held back for more than 50 ms. Click: show it. Ctrl and wheel: zoom.</source>
        <translation>Die letzten {} Nachrichten in der Reihenfolge ihrer Zustellung hier; ein Pfeil führt zu einer Nachricht, deren Absender die andere zugestellt hatte. Ring: länger als 50 ms zurückgehalten. Klick: zeigen. Strg und Rad: vergrößern.</translation>
    </message>
    <message>
        <source>{} were delivered before what they follow.</source>
        <translation>{} wurden vor dem zugestellt, worauf sie folgen.</translation>
    </message>
</context>
<context>
    <name>SpaceTimeView</name>
    <message>
        <source>Space-time diagram</source>
        <translation>Raum-Zeit-Diagramm</translation>
    </message>
</context>
<context>
    <name>StartPage</name>
    <message>
        <source>Nick</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>the name under which others see you</source>
        <translation>der Name, unter dem andere dich sehen</translation>
    </message>
    <message>
        <source>Registry</source>
        <translation>Registry</translation>
    </message>
    <message>
        <source>Invitation</source>
        <translation>Einladung</translation>
    </message>
    <message>
        <source>for a registry on another machine: gcom1/…</source>
        <translation>für eine Registry auf einem anderen Rechner: gcom1/…</translation>
    </message>
    <message>
        <source>C&amp;onnect</source>
        <translation>Verbin&amp;den</translation>
    </message>
    <message>
        <source>&amp;Start a registry here</source>
        <translation>Registry hier &amp;starten</translation>
    </message>
    <message>
        <source>Starts gcom-registry on this machine, for this user&apos;s programs; it goes on when the chat ends.</source>
        <translation>Startet gcom-registry auf diesem Rechner, für die Programme dieses Benutzers; sie läuft weiter, wenn der Chat endet.</translation>
    </message>
    <message>
        <source>C&amp;reate a group…</source>
        <translation>Gruppe an&amp;legen…</translation>
    </message>
    <message>
        <source>&amp;Join a group…</source>
        <translation>Gruppe bei&amp;treten…</translation>
    </message>
    <message>
        <source>De&amp;mo with three companions</source>
        <translation>Vorführung &amp;mit drei Gefährten</translation>
    </message>
    <message>
        <source>A window of its own, which needs no registry and keeps nothing: gcom-chat --demo</source>
        <translation>Ein eigenes Fenster, das keine Registry braucht und nichts aufbewahrt: gcom-chat --demo</translation>
    </message>
    <message>
        <source>Copy &amp;details</source>
        <translation>&amp;Einzelheiten kopieren</translation>
    </message>
    <message>
        <source>GCom chat</source>
        <translation>GCom-Chat</translation>
    </message>
    <message>
        <source>People talk in groups, and each group keeps the promises that its creator picked. A registry is where groups are found; the talk itself goes from member to member. Groups may promise that all see one order, or that no answer stands before its question. Press F12 in a group to see how it keeps its word.</source>
        <translation>Man spricht in Gruppen, und jede Gruppe hält, was bei ihrem Anlegen gewählt wurde. Eine Registry ist, wo man Gruppen findet; das Gespräch selbst geht von Mitglied zu Mitglied. Gruppen können versprechen, dass alle dieselbe Folge sehen, oder dass keine Antwort vor ihrer Frage steht. F12 in einer Gruppe zeigt, wie sie ihr Wort hält.</translation>
    </message>
    <message>
        <source>&amp;Nick</source>
        <translation>&amp;Name</translation>
    </message>
    <message>
        <source>&amp;Registry</source>
        <translation>&amp;Registry</translation>
    </message>
    <message>
        <source>&amp;Invitation</source>
        <translation>E&amp;inladung</translation>
    </message>
    <message>
        <source>Makes a key on this machine, and gets its certificate from {}; it works once.</source>
        <translation>Erzeugt auf diesem Rechner einen Schlüssel und holt dessen Zertifikat von {}; das geht einmal.</translation>
    </message>
    <message>
        <source>A registry starts at {}…</source>
        <translation>Eine Registry startet an {} …</translation>
    </message>
    <message>
        <source>A registry answers at {}.</source>
        <translation>Bei {} antwortet eine Registry.</translation>
    </message>
    <message>
        <source>No registry answers at {} yet.</source>
        <translation>An {} antwortet noch keine Registry.</translation>
    </message>
    <message>
        <source>&amp;Accept and connect</source>
        <translation>Annehmen und verbin&amp;den</translation>
    </message>
    <message>
        <source>The registry at {} did not start: {}</source>
        <translation>Die Registry an {} startete nicht: {}</translation>
    </message>
</context>
<context>
    <name>Switcher</name>
    <message>
        <source>Go to a group</source>
        <translation>Gehe zu einer Gruppe</translation>
    </message>
    <message>
        <source>Group</source>
        <translation>Gruppe</translation>
    </message>
    <message>
        <source>Groups</source>
        <translation>Gruppen</translation>
    </message>
</context>
<context>
    <name>TabStrip</name>
    <message>
        <source>Groups</source>
        <translation>Gruppen</translation>
    </message>
</context>
<context>
    <name>Tour</name>
    <message>
        <source>Tour</source>
        <translation>Rundgang</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>Zurück</translation>
    </message>
    <message>
        <source>Next</source>
        <translation>Weiter</translation>
    </message>
    <message>
        <source>End the tour</source>
        <translation>Den Rundgang beenden</translation>
    </message>
    <message>
        <source>bob, carol and dave are processes of their own. They talk in the group lounge; so can you, below.</source>
        <translation>bob, carol und dave sind eigene Prozesse. Sie reden in der Gruppe lounge; unten kannst du mitreden.</translation>
    </message>
    <message>
        <source>The sign at the right of your own lines: › sent, ✓ ordered and delivered here, ✓✓ held by all members.</source>
        <translation>Das Zeichen rechts an deinen Zeilen: › gesendet, ✓ geordnet und hier zugestellt, ✓✓ bei allen Mitgliedern.</translation>
    </message>
    <message>
        <source>At the right: who is here. ♛ leads, ◐ is suspected, ○ is gone. Hover over a name to see since when.</source>
        <translation>Rechts: wer da ist. ♛ leitet, ◐ wird verdächtigt, ○ ist fort. Seit wann, steht unter dem Mauszeiger.</translation>
    </message>
    <message>
        <source>Lines across the talk are view changes: somebody came, left or crashed, and all who stay agree on it.</source>
        <translation>Linien quer durch das Gespräch sind Sichtwechsel: jemand kam, ging oder stürzte ab, und alle, die bleiben, sind sich einig.</translation>
    </message>
    <message>
        <source>F12 opens the instruments: clocks, held-back messages, the sequencer, views, a space-time diagram.</source>
        <translation>F12 öffnet die Instrumente: Uhren, zurückgehaltene Nachrichten, den Sequencer, Sichten, ein Raum-Zeit-Diagramm.</translation>
    </message>
    <message>
        <source>The debug page there breaks the network on purpose. Cut a link, and see what the banner says.</source>
        <translation>Die Fehlerseite dort stört das Netz mit Absicht. Trenne eine Verbindung und sieh, was das Banner sagt.</translation>
    </message>
    <message>
        <source>View &gt; Ordering duel sends one talk through all five orderings side by side. That is the tour: have fun.</source>
        <translation>Ansicht &gt; Duell der Ordnungen schickt ein Gespräch durch alle fünf Ordnungen nebeneinander. Das war der Rundgang: viel Spaß.</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>Fertig</translation>
    </message>
</context>
<context>
    <name>TroubleDialog</name>
    <message>
        <source>Copy &amp;details</source>
        <translation>&amp;Einzelheiten kopieren</translation>
    </message>
</context>
<context>
    <name>ViewsPage</name>
    <message>
        <source>Views</source>
        <translation>Sichten</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>View</source>
        <translation>Sicht</translation>
    </message>
    <message>
        <source>What happened</source>
        <translation>Was geschah</translation>
    </message>
    <message>
        <source>Leader</source>
        <translation>Leitung</translation>
    </message>
    <message>
        <source>Members</source>
        <translation>Mitglieder</translation>
    </message>
    <message>
        <source>Views and elections</source>
        <translation>Sichten und Wahlen</translation>
    </message>
</context>
<context>
    <name>WholeText</name>
    <message>
        <source>What {} said</source>
        <translation>Was {} sagte</translation>
    </message>
    <message>
        <source>The text</source>
        <translation>Der Text</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>Text</translation>
    </message>
    <message>
        <source>The rest is not kept any more.</source>
        <translation>Der Rest ist nicht mehr vorhanden.</translation>
    </message>
    <message>
        <source>&amp;Copy all</source>
        <translation>Alles &amp;kopieren</translation>
    </message>
</context>
<context>
    <name>audit</name>
    <message>
        <source>it was stopped</source>
        <translation>sie wurde angehalten</translation>
    </message>
    <message>
        <source>it ended with {}</source>
        <translation>es endete mit {}</translation>
    </message>
    <message>
        <source>every promise held</source>
        <translation>jedes Versprechen wurde gehalten</translation>
    </message>
    <message>
        <source>a promise was broken</source>
        <translation>ein Versprechen wurde gebrochen</translation>
    </message>
    <message>
        <source>nothing is known to be broken, but not all is known</source>
        <translation>von keinem Bruch ist etwas bekannt, aber nicht alles ist bekannt</translation>
    </message>
    <message>
        <source>there was nothing to judge</source>
        <translation>es gab nichts zu beurteilen</translation>
    </message>
    <message>
        <source>the audit&apos;s result has version {!r}, not {}</source>
        <translation>das Ergebnis der Prüfung hat Version {!r}, nicht {}</translation>
    </message>
    <message>
        <source>no result of an audit: {}: {}</source>
        <translation>kein Ergebnis einer Prüfung: {}: {}</translation>
    </message>
</context>
<context>
    <name>banner</name>
    <message>
        <source>Joining {}: waiting for the registry and for the members to let this chat in.</source>
        <translation>Beitritt zu {}: der Chat wartet auf die Registry, und dass die Mitglieder ihn einlassen.</translation>
    </message>
    <message>
        <source>This side of a netsplit hears too few members to go on. You can read, and what you write waits here. It goes on by itself when a majority of the group is heard again.</source>
        <translation>Diese Seite einer Netzteilung hört zu wenige Mitglieder, um weiterzumachen. Lesen geht, und was du schreibst, wartet hier. Es geht von selbst weiter, wenn eine Mehrheit der Gruppe wieder zu hören ist.</translation>
    </message>
    <message>
        <source>Out of the group: {}. This chat is on its way back; what you write waits here.</source>
        <translation>Nicht mehr in der Gruppe: {}. Dieser Chat ist auf dem Weg zurück; was du schreibst, wartet hier.</translation>
    </message>
    <message>
        <source>Create it…</source>
        <translation>Anlegen…</translation>
    </message>
    <message>
        <source>Not in this group: {}.</source>
        <translation>Nicht in dieser Gruppe: {}.</translation>
    </message>
    <message>
        <source>Join again</source>
        <translation>Wieder beitreten</translation>
    </message>
    <message>
        <source>{} is not in the group {} now.</source>
        <translation>{} ist jetzt nicht in der Gruppe {}.</translation>
    </message>
    <message>
        <source>Send all again</source>
        <translation>Alle erneut senden</translation>
    </message>
    <message>
        <source>Discard all</source>
        <translation>Alle verwerfen</translation>
    </message>
    <message>
        <source>Not sent: {}.</source>
        <translation>Nicht gesendet: {}.</translation>
    </message>
    <message>
        <source>May not have arrived: {}.</source>
        <translation>Vielleicht nicht angekommen: {}.</translation>
    </message>
    <message>
        <source>Waiting here: {}.</source>
        <translation>Wartet hier: {}.</translation>
    </message>
    <message>
        <source>{} and {} more</source>
        <translation>{} und {} weitere</translation>
    </message>
    <message>
        <source>No registry answers: {}. The chat asks again by itself.</source>
        <translation>Keine Registry antwortet: {}. Der Chat fragt von selbst wieder.</translation>
    </message>
    <message>
        <source>The registry does not answer: nobody can join now.</source>
        <translation>Die Registry antwortet nicht: jetzt kann niemand beitreten.</translation>
    </message>
    <message>
        <source>Nothing is heard of the leader {}: the group elects the next one. You can read, and what you write waits for the new view.</source>
        <translation>Vom Leiter {} ist nichts zu hören: die Gruppe wählt den nächsten. Du kannst lesen, und was du schreibst, wartet auf die neue Sicht.</translation>
    </message>
    <message>
        <source>The registry does not answer. Talk goes on; new groups and newcomers have to wait{}.</source>
        <translation>Die Registry antwortet nicht. Das Gespräch geht weiter; neue Gruppen und Neue müssen warten{}.</translation>
    </message>
    <message>
        <source>It is asked again in {} s.</source>
        <translation>In {} s wird sie wieder gefragt.</translation>
    </message>
    <message>
        <source>, and so may messages, until a member numbers them in its place</source>
        <translation>, und vielleicht auch Nachrichten, bis ein Mitglied sie an ihrer Stelle nummeriert</translation>
    </message>
    <message>
        <source>Back in the group: what waited is on its way.</source>
        <translation>Zurück in der Gruppe: was wartete, ist unterwegs.</translation>
    </message>
    <message>
        <source>The registry answers again.</source>
        <translation>Die Registry antwortet wieder.</translation>
    </message>
    <message>
        <source>Ask now</source>
        <translation>Jetzt fragen</translation>
    </message>
</context>
<context>
    <name>chat</name>
    <message>
        <source>{:,} messages wait for the group already</source>
        <translation>{:,} Nachrichten warten schon auf die Gruppe</translation>
    </message>
    <message>
        <source>this group was left</source>
        <translation>diese Gruppe wurde verlassen</translation>
    </message>
    <message>
        <source>not sent: {}</source>
        <translation>nicht gesendet: {}</translation>
    </message>
    <message>
        <source>may not have arrived: {}</source>
        <translation>vielleicht nicht angekommen: {}</translation>
    </message>
    <message>
        <source>could not {}: {}</source>
        <translation>fehlgeschlagen: {}: {}</translation>
    </message>
    <message>
        <source>this chat is no longer in the group: {}</source>
        <translation>dieser Chat ist nicht mehr in der Gruppe: {}</translation>
    </message>
    <message>
        <source>{} (private): {}</source>
        <translation>{} (privat): {}</translation>
    </message>
    <message>
        <source>{} messages of {} were lost on the way here</source>
        <translation>{} Nachrichten von {} gingen auf dem Weg hierher verloren</translation>
    </message>
    <message>
        <source>this chat is back in the group</source>
        <translation>dieser Chat ist wieder in der Gruppe</translation>
    </message>
    <message>
        <source>nobody can give the topic and what was said before: {}</source>
        <translation>niemand kann das Thema und das früher Gesagte geben: {}</translation>
    </message>
    <message>
        <source>what was said while this chat was out is lost: {}</source>
        <translation>Was gesagt wurde, während dieser Chat draußen war, ist verloren: {}</translation>
    </message>
    <message>
        <source>what this side said meanwhile stays here alone: {}</source>
        <translation>was diese Seite inzwischen sagte, bleibt nur hier: {}</translation>
    </message>
    <message>
        <source>the delivery log ends here: {}</source>
        <translation>das Zustellprotokoll endet hier: {}</translation>
    </message>
    <message>
        <source>out of the group: {}; coming back</source>
        <translation>nicht mehr in der Gruppe: {}; auf dem Weg zurück</translation>
    </message>
    <message>
        <source>{} comes back as {}</source>
        <translation>{} kommt als {} wieder</translation>
    </message>
    <message>
        <source>{} sent {}</source>
        <translation>{} sandte {}</translation>
    </message>
    <message>
        <source>discarded, since it may not have arrived: {}</source>
        <translation>verworfen, da vielleicht nicht angekommen: {}</translation>
    </message>
    <message>
        <source>{} set the topic: {}</source>
        <translation>{} hat das Thema gesetzt: {}</translation>
    </message>
    <message>
        <source>{} removed the topic</source>
        <translation>{} hat das Thema entfernt</translation>
    </message>
    <message>
        <source>{} to {} alone: {}</source>
        <translation>{} an {} allein: {}</translation>
    </message>
    <message>
        <source>… ({:,} more characters)</source>
        <translation>… ({:,} weitere Zeichen)</translation>
    </message>
    <message>
        <source>text of {:,} bytes is too long: at most {:,}; send it in parts</source>
        <translation>ein Text von {:,} Bytes ist zu lang: höchstens {:,}; bitte in Teilen senden</translation>
    </message>
    <message>
        <source>a message that is broken</source>
        <translation>eine Nachricht, die beschädigt ist</translation>
    </message>
    <message>
        <source>a message of the kind {}, which this version cannot show</source>
        <translation>eine Nachricht der Art {}, die diese Version nicht zeigen kann</translation>
    </message>
    <message>
        <source>there is no group {} yet</source>
        <translation>noch gibt es keine Gruppe {}</translation>
    </message>
    <message>
        <source>its member went before it had read it</source>
        <translation>das Mitglied ging, bevor es sie gelesen hatte</translation>
    </message>
    <message>
        <source>this chat was out of the group</source>
        <translation>dieser Chat war nicht in der Gruppe</translation>
    </message>
    <message>
        <source>sets the topic: {}</source>
        <translation>setzt das Thema: {}</translation>
    </message>
    <message>
        <source>the chat ended before it was sent</source>
        <translation>der Chat endete, bevor sie gesendet war</translation>
    </message>
    <message>
        <source>the chat ended before all were known to hold it</source>
        <translation>der Chat endete, bevor bekannt war, dass alle sie haben</translation>
    </message>
</context>
<context>
    <name>clocks</name>
    <message>
        <source>{} has sent: {}</source>
        <translation>{} hat gesendet: {}</translation>
    </message>
    <message>
        <source>{} has delivered of {}: {}</source>
        <translation>{} hat zugestellt von {}: {}</translation>
    </message>
    <message>
        <source>, {} fewer than are known</source>
        <translation>, {} weniger als bekannt sind</translation>
    </message>
    <message>
        <source>, changed just now</source>
        <translation>, eben geändert</translation>
    </message>
</context>
<context>
    <name>commands</name>
    <message>
        <source>open a tab for a group, and join it</source>
        <translation>einen Reiter für eine Gruppe öffnen und ihr beitreten</translation>
    </message>
    <message>
        <source>say what you do: * alice waves</source>
        <translation>sagen, was man tut: * alice winkt</translation>
    </message>
    <message>
        <source>come back to all groups under another name</source>
        <translation>unter anderem Namen in alle Gruppen zurückkommen</translation>
    </message>
    <message>
        <source>show the topic, or set it</source>
        <translation>das Thema zeigen oder setzen</translation>
    </message>
    <message>
        <source>close this tab, and leave its group</source>
        <translation>diesen Reiter schließen und seine Gruppe verlassen</translation>
    </message>
    <message>
        <source>say something to one member alone, in a tab of its own</source>
        <translation>einem Mitglied allein etwas sagen, in einem eigenen Reiter</translation>
    </message>
    <message>
        <source>show nothing of what a member says; nothing: list them</source>
        <translation>nichts von einem Mitglied zeigen; ohne Namen: die ignorierten nennen</translation>
    </message>
    <message>
        <source>show again what a member says</source>
        <translation>wieder zeigen, was ein Mitglied sagt</translation>
    </message>
    <message>
        <source>list the members, and when each was last heard</source>
        <translation>die Mitglieder nennen, und wann jedes zuletzt gehört wurde</translation>
    </message>
    <message>
        <source>tell what the group&apos;s ordering promises, and what it costs</source>
        <translation>sagen, was die Ordnung der Gruppe verspricht und kostet</translation>
    </message>
    <message>
        <source>break the network on purpose, or stop (F12, Debug mode)</source>
        <translation>das Netz mit Absicht stören, oder aufhören (F12, Fehlermodus)</translation>
    </message>
    <message>
        <source>debug mode: make calls late, all or one member&apos;s</source>
        <translation>Fehlermodus: Aufrufe verzögern, alle oder die eines Mitglieds</translation>
    </message>
    <message>
        <source>debug mode: lose a share of all calls</source>
        <translation>Fehlermodus: einen Teil aller Aufrufe verlieren</translation>
    </message>
    <message>
        <source>debug mode: let a share of all calls be overtaken</source>
        <translation>Fehlermodus: einen Teil aller Aufrufe überholen lassen</translation>
    </message>
    <message>
        <source>debug mode: cut the links between two sides; nothing: heal</source>
        <translation>Fehlermodus: die Verbindungen zwischen zwei Seiten trennen; ohne Angabe: heilen</translation>
    </message>
    <message>
        <source>write this conversation to a file</source>
        <translation>dieses Gespräch in eine Datei schreiben</translation>
    </message>
    <message>
        <source>list the commands</source>
        <translation>die Befehle nennen</translation>
    </message>
    <message>
        <source>unknown command /{}: /help lists them; begin with // to say a text with a slash</source>
        <translation>unbekannter Befehl /{}: /help nennt alle; mit // beginnt ein Text mit Schrägstrich</translation>
    </message>
    <message>
        <source>/{0} needs more: /{0} {1}</source>
        <translation>/{0} braucht mehr: /{0} {1}</translation>
    </message>
    <message>
        <source>/msg needs another member of the group: {}; got {}</source>
        <translation>/msg braucht ein anderes Mitglied der Gruppe: {}; nicht {}</translation>
    </message>
</context>
<context>
    <name>connect</name>
    <message>
        <source>The registry is HOST:PORT, as in {}, or several of these, with commas.</source>
        <translation>Die Registry ist HOST:PORT, wie {}, oder mehrere davon, mit Kommas.</translation>
    </message>
</context>
<context>
    <name>delivery</name>
    <message>
        <source>waiting: still on this computer</source>
        <translation>wartet: noch auf diesem Rechner</translation>
    </message>
    <message>
        <source>sent</source>
        <translation>gesendet</translation>
    </message>
    <message>
        <source>ordered and delivered here; not yet known to be held by all</source>
        <translation>geordnet und hier zugestellt; noch nicht bekannt, ob alle sie haben</translation>
    </message>
    <message>
        <source>held by all members</source>
        <translation>alle Mitglieder haben sie</translation>
    </message>
    <message>
        <source>in doubt: it may not have arrived, and the chat finds out</source>
        <translation>unklar: vielleicht nicht angekommen, der Chat findet es heraus</translation>
    </message>
    <message>
        <source>not sent</source>
        <translation>nicht gesendet</translation>
    </message>
    <message>
        <source>it may not have arrived</source>
        <translation>vielleicht nicht angekommen</translation>
    </message>
</context>
<context>
    <name>duel</name>
    <message>
        <source>it ended with {}</source>
        <translation>es endete mit {}</translation>
    </message>
    <message>
        <source>{} answer before its question</source>
        <translation>{} Antwort vor ihrer Frage</translation>
    </message>
    <message>
        <source>{} answers before their question</source>
        <translation>{} Antworten vor ihrer Frage</translation>
    </message>
    <message>
        <source>{} own line out of turn</source>
        <translation>{} eigene Zeile nicht an der Reihe</translation>
    </message>
    <message>
        <source>{} own lines out of turn</source>
        <translation>{} eigene Zeilen nicht an der Reihe</translation>
    </message>
    <message>
        <source>{} line where they disagree</source>
        <translation>{} Zeile, in der sie uneins sind</translation>
    </message>
    <message>
        <source>{} lines where they disagree</source>
        <translation>{} Zeilen, in denen sie uneins sind</translation>
    </message>
    <message>
        <source>{} line that never came</source>
        <translation>{} Zeile, die nie kam</translation>
    </message>
    <message>
        <source>{} lines that never came</source>
        <translation>{} Zeilen, die nie kamen</translation>
    </message>
    <message>
        <source>nothing wrong</source>
        <translation>nichts falsch</translation>
    </message>
    <message>
        <source>{} sees</source>
        <translation>{} sieht</translation>
    </message>
    <message>
        <source>shown as it arrives</source>
        <translation>gezeigt, wie es kommt</translation>
    </message>
    <message>
        <source>each speaker’s own lines in order</source>
        <translation>eines jeden eigene Zeilen der Reihe nach</translation>
    </message>
    <message>
        <source>no answer before its question</source>
        <translation>keine Antwort vor ihrer Frage</translation>
    </message>
    <message>
        <source>one order for all</source>
        <translation>eine Folge für alle</translation>
    </message>
    <message>
        <source>one order, no answer before its question</source>
        <translation>eine Folge, keine Antwort vor der Frage</translation>
    </message>
    <message>
        <source>Alice, Bob and Carol talk about lunch</source>
        <translation>Alice, Bob und Carol reden über Essen</translation>
    </message>
    <message>
        <source>and keys, over the same bad network.</source>
        <translation>und Schlüssel, im selben schlechten Netz.</translation>
    </message>
    <message>
        <source>Each panel has the screens of Carol</source>
        <translation>Jedes Feld zeigt die Schirme von Carol</translation>
    </message>
    <message>
        <source>and Dave, from top to bottom.</source>
        <translation>und Dave, von oben nach unten.</translation>
    </message>
    <message>
        <source>You are Alice. Bob and Carol answer as</source>
        <translation>Du bist Alice. Bob und Carol antworten,</translation>
    </message>
    <message>
        <source>soon as they see your line, over the</source>
        <translation>sobald sie deine Zeile sehen, über</translation>
    </message>
    <message>
        <source>same bad network. Carol’s and Dave’s</source>
        <translation>dasselbe schlechte Netz. Carols und Daves</translation>
    </message>
    <message>
        <source>screens, your last three lines.</source>
        <translation>Schirme, deine letzten drei Zeilen.</translation>
    </message>
    <message>
        <source>talking …</source>
        <translation>im Gespräch …</translation>
    </message>
    <message>
        <source>One conversation, two promises about order</source>
        <translation>Ein Gespräch, zwei Versprechen über die Reihenfolge</translation>
    </message>
    <message>
        <source>The same lines over the same bad network. Red is wrong on a member’s screen.</source>
        <translation>Dieselben Zeilen über dasselbe schlechte Netz. Rot ist auf einem Bildschirm falsch.</translation>
    </message>
    <message>
        <source>✗ {} wrong</source>
        <translation>✗ {} falsch</translation>
    </message>
    <message>
        <source>✓ nothing wrong</source>
        <translation>✓ nichts falsch</translation>
    </message>
    <message>
        <source>shown after {} ms on average</source>
        <translation>im Mittel nach {} ms gezeigt</translation>
    </message>
    <message>
        <source>How to read it</source>
        <translation>So liest man es</translation>
    </message>
    <message>
        <source>the same message on both screens</source>
        <translation>dieselbe Nachricht auf beiden</translation>
    </message>
    <message>
        <source>a message where the two disagree</source>
        <translation>eine, bei der sie uneins sind</translation>
    </message>
    <message>
        <source>an answer before its question</source>
        <translation>eine Antwort vor ihrer Frage</translation>
    </message>
    <message>
        <source>a speaker’s own lines out of turn</source>
        <translation>eigene Zeilen vertauscht</translation>
    </message>
</context>
<context>
    <name>export</name>
    <message>
        <source>cannot write {}: {}; choose another place</source>
        <translation>{} kann nicht geschrieben werden: {}; bitte einen anderen Ort wählen</translation>
    </message>
    <message>
        <source>{:,} rows are written to {}</source>
        <translation>{:,} Zeilen stehen in {}</translation>
    </message>
</context>
<context>
    <name>facts</name>
    <message>
        <source>a place in the total order</source>
        <translation>einen Platz in der totalen Ordnung</translation>
    </message>
    <message>
        <source>a majority of the view to hold its place in the total order</source>
        <translation>dass eine Mehrheit der Sicht ihren Platz in der totalen Ordnung hat</translation>
    </message>
    <message>
        <source>a majority of the view to hold it</source>
        <translation>dass eine Mehrheit der Sicht sie hat</translation>
    </message>
    <message>
        <source>the rest of its fragments</source>
        <translation>den Rest ihrer Teile</translation>
    </message>
    <message>
        <source>a view change</source>
        <translation>einen Sichtwechsel</translation>
    </message>
    <message>
        <source>the application&apos;s state</source>
        <translation>den Zustand der Anwendung</translation>
    </message>
    <message>
        <source>, and {} more</source>
        <translation>, und {} weitere</translation>
    </message>
    <message>
        <source>Nothing is held back: every message that is here was delivered.</source>
        <translation>Nichts wird zurückgehalten: jede Nachricht, die hier ist, wurde zugestellt.</translation>
    </message>
    <message>
        <source>1 message is here and not delivered yet</source>
        <translation>1 Nachricht ist hier und noch nicht zugestellt</translation>
    </message>
    <message>
        <source>{} messages are here and not delivered yet</source>
        <translation>{} Nachrichten sind hier und noch nicht zugestellt</translation>
    </message>
    <message>
        <source>, and {} runs that are not listed</source>
        <translation>, und {} weitere Folgen, die hier nicht stehen</translation>
    </message>
    <message>
        <source>Ordering</source>
        <translation>Ordnung</translation>
    </message>
    <message>
        <source>Own messages not held by all</source>
        <translation>Eigene Nachrichten, die nicht alle haben</translation>
    </message>
    <message>
        <source>… not read by all</source>
        <translation>… die nicht alle gelesen haben</translation>
    </message>
    <message>
        <source>{:,} of {:,}</source>
        <translation>{:,} von {:,}</translation>
    </message>
    <message>
        <source>… waiting to be sent</source>
        <translation>… die auf das Senden warten</translation>
    </message>
    <message>
        <source>A send would wait for</source>
        <translation>Senden würde warten auf</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>nichts</translation>
    </message>
    <message>
        <source>Sequencer</source>
        <translation>Sequencer</translation>
    </message>
    <message>
        <source>none: this group has no total order</source>
        <translation>keiner: diese Gruppe hat keine totale Ordnung</translation>
    </message>
    <message>
        <source>in the registry</source>
        <translation>in der Registry</translation>
    </message>
    <message>
        <source>at {}</source>
        <translation>bei {}</translation>
    </message>
    <message>
        <source>, and it did not answer lately</source>
        <translation>, und zuletzt antwortete er nicht</translation>
    </message>
    <message>
        <source>Last serial known here</source>
        <translation>Letzte hier bekannte Nummer</translation>
    </message>
    <message>
        <source>… agreed by a majority</source>
        <translation>… von einer Mehrheit bestätigt</translation>
    </message>
    <message>
        <source>… delivered here</source>
        <translation>… hier zugestellt</translation>
    </message>
    <message>
        <source>not heard yet</source>
        <translation>noch nicht gehört</translation>
    </message>
    <message>
        <source>heard {} ago</source>
        <translation>gehört vor {}</translation>
    </message>
    <message>
        <source>; suspected: {}</source>
        <translation>; verdächtigt: {}</translation>
    </message>
</context>
<context>
    <name>faults</name>
    <message>
        <source>this chat is not connected: connect to a registry first</source>
        <translation>dieser Chat ist nicht verbunden: bitte zuerst mit einer Registry verbinden</translation>
    </message>
    <message>
        <source>cannot write {}: {}</source>
        <translation>{} kann nicht geschrieben werden: {}</translation>
    </message>
    <message>
        <source>✂ cut</source>
        <translation>✂ getrennt</translation>
    </message>
    <message>
        <source>a share is 0% to 100%, as in /drop 10%; got {!r}</source>
        <translation>ein Anteil ist 0% bis 100%, wie in /drop 10%; gegeben ist {!r}</translation>
    </message>
    <message>
        <source>{!r} is no member: there are {}, and {}</source>
        <translation>{!r} ist kein Mitglied: es gibt {} und {}</translation>
    </message>
    <message>
        <source>a recording of version {} is needed</source>
        <translation>eine Aufnahme der Version {} ist nötig</translation>
    </message>
    <message>
        <source>no recording of faults: {}: {}</source>
        <translation>keine Aufnahme von Fehlern: {}: {}</translation>
    </message>
    <message>
        <source>no recording of faults: its steps go back in time</source>
        <translation>keine Aufnahme von Fehlern: die Schritte gehen in der Zeit zurück</translation>
    </message>
</context>
<context>
    <name>ignore</name>
    <message>
        <source>ignored: {}</source>
        <translation>ignoriert: {}</translation>
    </message>
    <message>
        <source>{} is ignored already</source>
        <translation>{} wird schon ignoriert</translation>
    </message>
    <message>
        <source>{} is not ignored</source>
        <translation>{} wird nicht ignoriert</translation>
    </message>
    <message>
        <source>nothing is shown of what {0} says from now on; /unignore {0} ends that</source>
        <translation>von {0} wird ab jetzt nichts gezeigt; /unignore {0} beendet das</translation>
    </message>
    <message>
        <source>what {} says from now on is shown again</source>
        <translation>was {} ab jetzt sagt, wird wieder gezeigt</translation>
    </message>
</context>
<context>
    <name>latency</name>
    <message>
        <source>more</source>
        <translation>mehr</translation>
    </message>
</context>
<context>
    <name>lines</name>
    <message>
        <source>Send again</source>
        <translation>Erneut senden</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>Verwerfen</translation>
    </message>
    <message>
        <source>Open all of it</source>
        <translation>Alles öffnen</translation>
    </message>
</context>
<context>
    <name>names</name>
    <message>
        <source>careful: this name looks like {}</source>
        <translation>Vorsicht: dieser Name sieht aus wie {}</translation>
    </message>
</context>
<context>
    <name>order</name>
    <message>
        <source>not known before this chat is in the group</source>
        <translation>nicht bekannt, bevor dieser Chat in der Gruppe ist</translation>
    </message>
</context>
<context>
    <name>orderings</name>
    <message>
        <source>Messages are shown as they arrive: fastest, and an answer may stand before its question.</source>
        <translation>Nachrichten erscheinen, wie sie kommen: am schnellsten, und eine Antwort kann vor ihrer Frage stehen.</translation>
    </message>
    <message>
        <source>Each member&apos;s messages in the order of sending; those of two members may interleave as they like.</source>
        <translation>Die Nachrichten jedes Mitglieds in der Folge des Sendens; die zweier Mitglieder mischen sich beliebig.</translation>
    </message>
    <message>
        <source>An answer never stands before what it answers. A message may wait for one that it follows.</source>
        <translation>Eine Antwort steht nie vor dem, worauf sie antwortet. Eine Nachricht wartet vielleicht auf eine, der sie folgt.</translation>
    </message>
    <message>
        <source>All members see one and the same order. A message waits for its number from the sequencer.</source>
        <translation>Alle Mitglieder sehen dieselbe Folge. Eine Nachricht wartet auf ihre Nummer vom Sequencer.</translation>
    </message>
    <message>
        <source>One order for all, and no answer before its question. Waits for both.</source>
        <translation>Eine Folge für alle, und keine Antwort vor ihrer Frage. Wartet auf beides.</translation>
    </message>
</context>
<context>
    <name>presence</name>
    <message>
        <source>here</source>
        <translation>hier</translation>
    </message>
    <message>
        <source>suspected</source>
        <translation>verdächtigt</translation>
    </message>
    <message>
        <source>gone</source>
        <translation>fort</translation>
    </message>
</context>
<context>
    <name>protection</name>
    <message>
        <source>You are {}. The registry is on this machine: nothing leaves it, and a secret of yours keeps other users of it out.</source>
        <translation>Du bist {}. Die Registry ist auf diesem Rechner: nichts verlässt ihn, und ein Geheimnis von dir hält seine anderen Benutzer fern.</translation>
    </message>
    <message>
        <source>You are {} by a certificate that is valid until {}. Calls are encrypted by TLS 1.3, and both ends show their certificates, of the authority {}.</source>
        <translation>Du bist {} durch ein Zertifikat, das bis {} gilt. Aufrufe sind mit TLS 1.3 verschlüsselt, und beide Seiten zeigen ihre Zertifikate, von der Stelle {}.</translation>
    </message>
</context>
<context>
    <name>reasons</name>
    <message>
        <source>the group went on without this chat</source>
        <translation>die Gruppe machte ohne diesen Chat weiter</translation>
    </message>
    <message>
        <source>too few were left; it goes on in an instance that succeeds the old one</source>
        <translation>zu wenige waren übrig; es geht in einer Instanz weiter, die der alten nachfolgt</translation>
    </message>
    <message>
        <source>this side goes over to the other one</source>
        <translation>diese Seite geht zur anderen über</translation>
    </message>
    <message>
        <source>this side goes on alone</source>
        <translation>diese Seite macht allein weiter</translation>
    </message>
    <message>
        <source>all others have left</source>
        <translation>alle anderen sind gegangen</translation>
    </message>
    <message>
        <source>the name was taken by another</source>
        <translation>der Name wurde von jemand anderem genommen</translation>
    </message>
    <message>
        <source>a member&apos;s state could not be used</source>
        <translation>der Zustand eines Mitglieds war nicht zu gebrauchen</translation>
    </message>
    <message>
        <source>this chat read nothing for too long</source>
        <translation>dieser Chat las zu lange nichts</translation>
    </message>
    <message>
        <source>a defect in GCom ended it</source>
        <translation>ein Fehler in GCom hat es beendet</translation>
    </message>
    <message>
        <source>left</source>
        <translation>ging</translation>
    </message>
    <message>
        <source>left without waiting</source>
        <translation>ging, ohne zu warten</translation>
    </message>
    <message>
        <source>was put out: nothing was heard of it</source>
        <translation>ausgeschlossen: nichts war mehr zu hören</translation>
    </message>
    <message>
        <source>crashed</source>
        <translation>abgestürzt</translation>
    </message>
    <message>
        <source>went over to another instance</source>
        <translation>ging zu einer anderen Instanz über</translation>
    </message>
    <message>
        <source>left: its state could not be kept</source>
        <translation>ging: der Zustand war nicht zu halten</translation>
    </message>
    <message>
        <source>left: its window read nothing</source>
        <translation>ging: das Fenster las nichts mehr</translation>
    </message>
    <message>
        <source>ended by a defect</source>
        <translation>durch einen Fehler beendet</translation>
    </message>
</context>
<context>
    <name>receipt</name>
    <message>
        <source>message {}: {}</source>
        <translation>Nachricht {}: {}</translation>
    </message>
    <message>
        <source>number {} in the group&apos;s order</source>
        <translation>Nummer {} in der Folge der Gruppe</translation>
    </message>
    <message>
        <source>held by {}</source>
        <translation>bei {}</translation>
    </message>
    <message>
        <source>nobody</source>
        <translation>niemand</translation>
    </message>
    <message>
        <source>lacking: {}</source>
        <translation>fehlt bei: {}</translation>
    </message>
    <message>
        <source>it was sent by {}, which is no more; this chat is {} now</source>
        <translation>sie wurde von {} gesendet, den es nicht mehr gibt; dieser Chat ist jetzt {}</translation>
    </message>
</context>
<context>
    <name>say</name>
    <message>
        <source>this chat is not in the group; the banner says why</source>
        <translation>dieser Chat ist nicht in der Gruppe; das Banner sagt, warum</translation>
    </message>
</context>
<context>
    <name>shortcuts</name>
    <message>
        <source>{} is for writing: choose keys with Ctrl or Alt, or a function key.</source>
        <translation>{} dient dem Schreiben: Tasten mit Strg oder Alt wählen, oder eine Funktionstaste.</translation>
    </message>
    <message>
        <source>{} is for “{}” already: choose others, or change those first.</source>
        <translation>{} ist schon für „{}“: andere wählen, oder erst jene ändern.</translation>
    </message>
</context>
<context>
    <name>spacetime</name>
    <message>
        <source>, serial {}</source>
        <translation>, Nummer {} in der Folge</translation>
    </message>
    <message>
        <source>, held back for {:.0f} ms</source>
        <translation>, {:.0f} ms lang zurückgehalten</translation>
    </message>
</context>
<context>
    <name>states</name>
    <message>
        <source>waiting</source>
        <translation>wartet</translation>
    </message>
    <message>
        <source>sent</source>
        <translation>gesendet</translation>
    </message>
    <message>
        <source>ordered</source>
        <translation>geordnet</translation>
    </message>
    <message>
        <source>held</source>
        <translation>bei allen</translation>
    </message>
    <message>
        <source>doubt</source>
        <translation>ungewiss</translation>
    </message>
    <message>
        <source>lost</source>
        <translation>verloren</translation>
    </message>
</context>
<context>
    <name>storage</name>
    <message>
        <source>{} cannot be written ({}): what is open now, and settings that change, will not be there at the next start. Make room, or make the folder writable</source>
        <translation>{} kann nicht geschrieben werden ({}): was jetzt offen ist, und geänderte Einstellungen, fehlen beim nächsten Start. Bitte Platz schaffen oder den Ordner beschreibbar machen</translation>
    </message>
    <message>
        <source>the scrollback cannot be saved ({}): the chat goes on, and tries again. Make room, or make {} writable</source>
        <translation>der Verlauf kann nicht gesichert werden ({}): der Chat geht weiter und versucht es wieder. Bitte Platz schaffen oder {} beschreibbar machen</translation>
    </message>
    <message>
        <source>what was said earlier cannot be read ({}): this chat goes on without, and saves nothing of these groups until its next start. Look at {}</source>
        <translation>früher Gesagtes kann nicht gelesen werden ({}): dieser Chat geht ohne weiter und sichert von diesen Gruppen bis zum nächsten Start nichts. Bitte {} ansehen</translation>
    </message>
    <message>
        <source>the scrollback was damaged: it is kept as {}, and a new one begins</source>
        <translation>der Verlauf war beschädigt: er bleibt als {}, und ein neuer beginnt</translation>
    </message>
    <message>
        <source>{} cannot be read ({}): this chat begins with its defaults, and leaves the file as it is</source>
        <translation>{} kann nicht gelesen werden ({}): dieser Chat beginnt mit Vorgaben und lässt die Datei, wie sie ist</translation>
    </message>
    <message>
        <source>{} is damaged: this chat begins with its defaults</source>
        <translation>{} ist beschädigt: dieser Chat beginnt mit Vorgaben</translation>
    </message>
    <message>
        <source>{} is damaged and kept as {}: this chat begins with its defaults</source>
        <translation>{} ist beschädigt und bleibt als {}: dieser Chat beginnt mit Vorgaben</translation>
    </message>
    <message>
        <source>no delivery logs are written ({}); choose another folder: F12, Audit</source>
        <translation>es werden keine Zustell-Logs geschrieben ({}); bitte einen anderen Ordner wählen: F12, Audit</translation>
    </message>
</context>
<context>
    <name>timeline</name>
    <message>
        <source>the view at joining</source>
        <translation>die Sicht beim Beitritt</translation>
    </message>
    <message>
        <source>{} is suspected: {}</source>
        <translation>{} wird verdächtigt: {}</translation>
    </message>
    <message>
        <source>no quorum is heard: nothing can be sent</source>
        <translation>kein Quorum ist zu hören: nichts kann gesendet werden</translation>
    </message>
    <message>
        <source>a quorum is heard again</source>
        <translation>ein Quorum ist wieder zu hören</translation>
    </message>
    <message>
        <source>this chat is out: {}</source>
        <translation>dieser Chat ist nicht mehr in der Gruppe: {}</translation>
    </message>
    <message>
        <source>; coming back</source>
        <translation>; auf dem Weg zurück</translation>
    </message>
    <message>
        <source>this chat is back, as another process</source>
        <translation>dieser Chat ist zurück, als ein anderer Prozess</translation>
    </message>
    <message>
        <source>; {} leads now, the oldest who is left</source>
        <translation>; {} leitet jetzt, das älteste Mitglied, das noch da ist</translation>
    </message>
</context>
<context>
    <name>times</name>
    <message>
        <source>sent {}</source>
        <translation>gesendet {}</translation>
    </message>
    <message>
        <source>read {}</source>
        <translation>gelesen {}</translation>
    </message>
    <message>
        <source>received {}</source>
        <translation>empfangen {}</translation>
    </message>
    <message>
        <source>delivered {}</source>
        <translation>zugestellt {}</translation>
    </message>
    <message>
        <source>ordered {}</source>
        <translation>geordnet {}</translation>
    </message>
    <message>
        <source>held back for {}</source>
        <translation>zurückgehalten für {}</translation>
    </message>
    <message>
        <source>serial {:,} of the group&apos;s order</source>
        <translation>Nummer {:,} in der Ordnung der Gruppe</translation>
    </message>
    <message>
        <source>message {} of {}, view {}</source>
        <translation>Nachricht {} von {}, Sicht {}</translation>
    </message>
</context>
<context>
    <name>title</name>
    <message>
        <source>joining</source>
        <translation>tritt bei</translation>
    </message>
    <message>
        <source>cut off</source>
        <translation>abgeschnitten</translation>
    </message>
    <message>
        <source>coming back</source>
        <translation>kommt zurück</translation>
    </message>
    <message>
        <source>not in the group</source>
        <translation>nicht in der Gruppe</translation>
    </message>
    <message>
        <source>registry away</source>
        <translation>Registry nicht erreichbar</translation>
    </message>
</context>
<context>
    <name>topic</name>
    <message>
        <source>the topic is: {}</source>
        <translation>das Thema ist: {}</translation>
    </message>
    <message>
        <source>no topic</source>
        <translation>kein Thema</translation>
    </message>
</context>
<context>
    <name>view</name>
    <message>
        <source>the same members</source>
        <translation>dieselben Mitglieder</translation>
    </message>
    <message>
        <source>view {}: {}, leader {}</source>
        <translation>Sicht {}: {}, Leiter {}</translation>
    </message>
    <message>
        <source>views {} to {}: {}, leader {}</source>
        <translation>Sichten {} bis {}: {}, Leiter {}</translation>
    </message>
</context>
<context>
    <name>who</name>
    <message>
        <source>leader</source>
        <translation>Leiter</translation>
    </message>
    <message>
        <source>heard {} s ago</source>
        <translation>vor {} s gehört</translation>
    </message>
    <message>
        <source>nobody is known yet</source>
        <translation>noch ist niemand bekannt</translation>
    </message>
</context>
<context>
    <name>wish</name>
    <message>
        <source>connect</source>
        <translation>verbinden</translation>
    </message>
    <message>
        <source>look for a registry</source>
        <translation>eine Registry suchen</translation>
    </message>
    <message>
        <source>accept the invitation</source>
        <translation>die Einladung annehmen</translation>
    </message>
    <message>
        <source>read the certificate</source>
        <translation>das Zertifikat lesen</translation>
    </message>
    <message>
        <source>list the groups</source>
        <translation>die Gruppen auflisten</translation>
    </message>
    <message>
        <source>create the group {}</source>
        <translation>die Gruppe {} anlegen</translation>
    </message>
    <message>
        <source>join the group {}</source>
        <translation>der Gruppe {} beitreten</translation>
    </message>
    <message>
        <source>leave the group {}</source>
        <translation>die Gruppe {} verlassen</translation>
    </message>
    <message>
        <source>ask who has the message</source>
        <translation>fragen, wer die Nachricht hat</translation>
    </message>
    <message>
        <source>it was there already, with other promises ({}), and was joined</source>
        <translation>es gab sie schon, mit anderen Zusagen ({}), und der Chat ist beigetreten</translation>
    </message>
</context>
</TS>
