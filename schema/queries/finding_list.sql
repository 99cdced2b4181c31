-- store_findings: what was concluded, ready to be answered, and by which version of the analysis.
SELECT analysis, job_findings(id)
  FROM job
 WHERE id = $1
