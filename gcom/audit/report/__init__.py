"""The report: one HTML file that opens offline, and stays small whatever the logs hold; and forms for other programs.

`page` chooses what is shown of a result, how much at most, and in what words; a Jinja template makes it HTML, whose
styles and script are inline. `plots` draws what happened over time, and `spacetime` a space-time diagram (Lamport 1978)
of the records around a violation, both as SVG in the page's own colours. `exports` writes JUnit XML and Parquet files.
Nothing here is imported before it is asked for: Matplotlib takes a second to come.
"""
